"""Marks what the implementation type `cpu` computes: nodes that NumPy computes and the device never sees."""
from __future__ import annotations

from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph
from clinfer.program.implementation_types import is_for_host, is_small
from clinfer.topology import Port


def mark_host_nodes(graph: Graph, context: BuildContext) -> None:
    """Set `on_host` on ShapeOf, on arithmetic with host values alone, and on what value inputs need."""
    for node in graph:
        node.on_host = is_for_host(graph, node, context)
    for node in graph:
        for index in node.primitive.value_inputs:
            if not node.primitive.can_evaluate or not node.on_host:
                _mark_value(graph, node.inputs[index], context)


def _mark_value(graph: Graph, port: Port, context: BuildContext) -> None:
    """Move the computation of a value that the host needs to the host, as long as its tensors are small."""
    node = graph[port.primitive]
    if node.on_host or node.id in graph.constants or not node.primitive.can_evaluate:
        return
    if context.options.forced(node.id).type or not all(map(is_small, (*node.layouts, *graph.input_layouts(node)))):
        return
    node.on_host = True
    for source in node.inputs:
        _mark_value(graph, source, context)
