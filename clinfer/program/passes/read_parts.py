"""Lets primitives read parts of tensors where they lie, and write their result as its reader wants it."""
from __future__ import annotations

from dataclasses import replace

from clinfer.base.part import Part
from clinfer.ops.shared.parts import ReadsParts
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Port, Primitive


def read_parts(graph: Graph, context: BuildContext) -> None:
    """Take out what only moves axes (Transpose) or cuts (Split, Slice, Gather of one) around primitives that can
    read parts, as long as the last axis stays last in memory (of a result: unless it need not). What others read
    stays for them."""
    for node in graph:
        if node.id in graph and isinstance(node.primitive, ReadsParts):
            for index in node.primitive.part_inputs:
                read_part(graph, node, index, context)
            _order_result(graph, node, context)


def read_part(graph: Graph, node: Node, index: int, context: BuildContext) -> None:
    """The same for one input."""
    primitive = node.primitive
    assert isinstance(primitive, ReadsParts)
    port = node.inputs[index]
    part = primitive.part(index, graph.layout(port).rank)
    best = port, part
    while (step := context.as_part(graph, port)) is not None:
        port, part = graph[port.primitive].inputs[0], part.behind(step)
        if part.axes[-1] == graph.layout(port).rank - 1:
            best = port, part
    if best[0] != node.inputs[index]:
        _let_read(graph, node, index, *best)


def _let_read(graph: Graph, node: Node, index: int, port: Port, part: Part) -> None:
    primitive, left = node.primitive, node.inputs[index]
    assert isinstance(primitive, ReadsParts)
    graph.replace(node.id, primitive.reading(index, port, part))
    graph.remove_unread(left.primitive)


def _order_result(graph: Graph, node: Node, context: BuildContext) -> None:
    """Let the result have its axes in the order into which its only reader brings them."""
    users = graph.users(node.id)
    if len(users) != 1 or graph.is_output(node.id) or node.primitive.fused_ops or node.primitive.output_padding:
        return
    part = context.as_part(graph, Port(users[0].id))
    assert isinstance(node.primitive, ReadsParts)
    if part is None or part.cuts or users[0].inputs[0] != Port(node.id):
        return
    if node.primitive.result_keeps_last and part.axes[-1] != len(part.axes) - 1:
        return
    _take_over(graph, node, users[0].primitive, part)


def _take_over(graph: Graph, node: Node, reader: Primitive, part: Part) -> None:
    assert isinstance(node.primitive, ReadsParts)
    axes = part.behind(Part(node.primitive.result_axes or Part.whole(len(part.axes)).axes)).axes
    graph.replace(node.id, replace(node.primitive, result_axes=axes))
    node.layouts = graph[reader.id].layouts
    graph.redirect(Port(reader.id), Port(node.id))
    graph.remove(reader.id)
