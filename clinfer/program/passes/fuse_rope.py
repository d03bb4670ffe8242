"""Makes rotary positions one primitive."""
from __future__ import annotations

from clinfer.base.part import Part
from clinfer.ops.concat import Concat
from clinfer.ops.convert import Convert
from clinfer.ops.eltwise import Eltwise, is_add
from clinfer.ops.rope import RoPE
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Port


def fuse_rope(graph: Graph, context: BuildContext) -> None:
    """Where x * cosine + turned * sine is written out, `turned` being the halves of x, exchanged, the first negated.

    Cosine and sine must stretch to x. Where sizes leave that open, it is checked for each shape.
    """
    for node in graph:
        inputs = _found(graph, node, context) if is_add(node.primitive) and not node.primitive.tails else None
        if inputs is None:
            continue
        read = node.inputs
        graph.replace(node.id, RoPE(node.id, inputs, output_padding=node.primitive.output_padding,
                                    origin=node.primitive.origin))
        for port in read:
            graph.remove_unread(port.primitive)


def _found(graph: Graph, node: Node, context: BuildContext) -> tuple[Port, Port, Port] | None:
    """Data, cosine and sine."""
    for straight, turned in (node.inputs, node.inputs[::-1]):
        for source, sine in _factors(graph, _unconverted(graph, turned)):
            data = _turned_data(graph, _unconverted(graph, source), context)
            if data is None or graph.element_type(data) != node.layouts[0].element_type:
                continue
            for same, cosine in _factors(graph, _unconverted(graph, straight)):
                if _unconverted(graph, same) == data and all(_stretches(graph, x, data) for x in (cosine, sine)):
                    return data, cosine, sine
    return None


def _unconverted(graph: Graph, port: Port) -> Port:
    """A tensor before it was converted from one float type to another, in which the kernel need not store it."""
    node = graph[port.primitive]
    while isinstance(node.primitive, Convert) and not node.primitive.tails and all(
            x.element_type.is_float for x in (*node.layouts, *graph.input_layouts(node))):
        port = node.inputs[0]
        node = graph[port.primitive]
    return port


def _factors(graph: Graph, port: Port) -> tuple[tuple[Port, Port], ...]:
    """The two sides of a product, in both orders."""
    node = graph[port.primitive]
    if not _is_product(node):
        return ()
    first, second = node.inputs
    return (first, second), (second, first)


def _is_product(node: Node) -> bool:
    primitive = node.primitive
    return (isinstance(primitive, Eltwise) and primitive.mode == "Multiply" and not primitive.tails
            and node.layouts[0].element_type.is_float)


def _turned_data(graph: Graph, port: Port, context: BuildContext) -> Port | None:
    """x, if a tensor is the negative second half of x, then its first half, along the last axis."""
    node, layout = graph[port.primitive], graph.layout(port)
    size, last = layout.shape[-1] if layout.rank else 0, layout.rank - 1
    if not isinstance(node.primitive, Concat) or len(node.inputs) != 2 or node.primitive.axis not in (-1, last):
        return None
    if not isinstance(size, int) or size % 2:
        return None
    negative = _negated(graph, node.inputs[0], context)
    if negative is None:
        return None
    halves = []
    for half, start in ((node.inputs[1], 0), (negative, size // 2)):
        wanted = Part.whole(layout.rank).cut(last, start, start + size // 2)
        if context.as_part(graph, half) != wanted:
            return None
        halves.append(graph[half.primitive].inputs[0])
    return halves[0] if halves[0] == halves[1] and graph.layout(halves[0]).shape[-1] == size else None


def _negated(graph: Graph, port: Port, context: BuildContext) -> Port | None:
    """x of -x."""
    node = graph[port.primitive]
    if isinstance(node.primitive, Eltwise) and node.primitive.mode == "Negative" and not node.primitive.tails:
        return node.inputs[0]
    return next((data for data, factor in _factors(graph, port) if context.number(graph, factor) == -1), None)


def _stretches(graph: Graph, port: Port, data: Port) -> bool:
    """Whether a factor holds floats, and sizes that are known do not keep it from stretching to the data."""
    factor, whole = graph.layout(port), graph.layout(data)
    return factor.element_type.is_float and factor.rank <= whole.rank and all(
        size in (1, other) if isinstance(size, int) else not isinstance(other, int)
        for size, other in zip(reversed(factor.shape), reversed(whole.shape), strict=False))
