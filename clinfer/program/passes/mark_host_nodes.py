"""Marks what the implementation type `host` computes: nodes that NumPy computes, but for rows of open length that
kernels alone read."""
from __future__ import annotations

from clinfer.ops import kernels_of
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
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
    for node in reversed(list(graph)):
        if node.on_host and _is_data(graph, node) and not context.options.forced(node.id).type:
            node.on_host = False


def _is_data(graph: Graph, node: Node) -> bool:
    """Whether a node makes rows of numbers, of any length, that kernels alone read: the host would make them anew, and
    move them to the device, whenever their length changes."""
    if node.primitive.reads_shapes_only or not kernels_of(node.primitive):
        return False
    if any(layout.is_static for layout in node.layouts):
        return False
    readers = [reader for output in range(len(node.layouts)) for reader in graph.readers(Port(node.id, output))]
    return not any(reader.on_host or reader.primitive.bodies or index in reader.primitive.value_inputs
                   for reader, index in readers)


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
