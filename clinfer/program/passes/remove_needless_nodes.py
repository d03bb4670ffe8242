"""Removes what no output needs."""
from __future__ import annotations

from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph
from clinfer.topology import Input


def remove_needless_nodes(graph: Graph, context: BuildContext) -> None:
    """Drop nodes from which no output can be reached; inputs of the graph stay."""
    for node in reversed(list(graph)):
        if not graph.users(node.id) and not graph.is_output(node.id) and not isinstance(node.primitive, Input):
            graph.remove(node.id)
