"""Removes reorders that undo others, or do what another one of the chain does anyway."""
from __future__ import annotations

from clinfer.ops.reorder import Reorder
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.select_kernels import select_node
from clinfer.topology import Port


def remove_redundant_reorders(graph: Graph, context: BuildContext) -> None:
    """Let the last of a chain of reorders read what the first reads, and take it out if that lies as it wants it.

    Outputs of the graph stay reorders: they lie as the topology asks.
    """
    for node in graph:
        if node.id not in graph or not _is_kept_in_type(graph, node):
            continue
        read, port = node.inputs[0], _before_reorders(graph, node.inputs[0])
        if graph.layout(port) == node.layouts[0] and not graph.is_output(node.id):
            graph.redirect(Port(node.id), port)
            graph.remove_unread(node.id)
        elif port != read:
            graph.set_input(node.id, 0, port)
            select_node(graph, node, context)
            graph.remove_unread(read.primitive)


def _before_reorders(graph: Graph, port: Port) -> Port:
    """What a chain of reorders that ends in this tensor begins with."""
    node = graph[port.primitive]
    return _before_reorders(graph, node.inputs[0]) if _is_kept_in_type(graph, node) else port


def _is_kept_in_type(graph: Graph, node: Node) -> bool:
    """Whether a node is a reorder that the device computes and that converts nothing."""
    return (isinstance(node.primitive, Reorder) and node.selection is not None
            and graph.element_type(node.inputs[0]) == node.layouts[0].element_type)
