"""Finds the element type and the (possibly dynamic) shape of every tensor; all formats are planar."""
from __future__ import annotations

from clinfer.program.constants import ConstantData
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph
from clinfer.topology import Constant


def infer_layouts(graph: Graph, context: BuildContext) -> None:
    """Fill in `layouts` of every node and register the constants."""
    for node in graph:
        node.layouts = context.infer(graph, node)
        if isinstance(node.primitive, Constant):
            graph.constants[node.id] = ConstantData(node.layouts[0], array=node.primitive.value)
