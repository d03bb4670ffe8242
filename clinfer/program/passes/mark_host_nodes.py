"""Marks the shape subgraphs: nodes that NumPy computes on the host and the device never sees."""
from __future__ import annotations

from clinfer.base.layout import Layout
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Port

HOST_ELEMENTS = 1024


def mark_host_nodes(graph: Graph, context: BuildContext) -> None:
    """Set `on_host` on ShapeOf, on arithmetic with host values alone, and on what value inputs need."""
    for node in graph:
        node.on_host = node.primitive.can_evaluate and (
            node.primitive.reads_shapes_only or (_follows(graph, node) and all(map(_is_arithmetic, node.layouts))))
    for node in graph:
        for index in node.primitive.value_inputs:
            if not node.primitive.can_evaluate or not node.on_host:
                _mark_value(graph, node.inputs[index])


def _follows(graph: Graph, node: Node) -> bool:
    """Whether all inputs are host values or constants, and one at least is a host value."""
    sources = [graph[port.primitive] for port in node.inputs]
    return (any(s.on_host for s in sources)
            and all(s.on_host or s.id in graph.constants for s in sources))


def _is_arithmetic(layout: Layout) -> bool:
    """Whether a tensor may be part of shape arithmetic: a number, a row of numbers, or small."""
    return layout.rank <= 1 or _is_small(layout)


def _is_small(layout: Layout) -> bool:
    return layout.is_static and layout.count <= HOST_ELEMENTS


def _mark_value(graph: Graph, port: Port) -> None:
    """Move the computation of a value that the host needs to the host, as long as its tensors are small."""
    node = graph[port.primitive]
    if node.on_host or node.id in graph.constants or not node.primitive.can_evaluate:
        return
    if not all(_is_small(x) for x in (*node.layouts, *graph.input_layouts(node))):
        return
    node.on_host = True
    for source in node.inputs:
        _mark_value(graph, source)
