"""Makes rotary positions one primitive."""
from __future__ import annotations

from dataclasses import dataclass, replace

from clinfer.base.shape import Size
from clinfer.ops.concat import Concat
from clinfer.ops.convert import Convert
from clinfer.ops.eltwise import Eltwise, is_add
from clinfer.ops.reshape import Reshape
from clinfer.ops.rope import RoPE
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.pairs import ends_of, is_along_last, joined_pairs, pairs_of
from clinfer.topology import Port


@dataclass(frozen=True)
class _Turned:
    """Data whose pairs of elements are turned by angles of which cosine and sine are given; see `RoPE`."""

    data: Port
    cosine: Port
    sine: Port
    interleaved: bool
    paired: bool = False
    rotated: int = 0


def fuse_rope(graph: Graph, context: BuildContext) -> None:
    """Where pairs of elements are turned: the halves of the last axis, or neighbours.

    Models write x * cosine + turned * sine, `turned` being x with the elements of each pair exchanged and the then
    first negated; or a * cosine - b * sine and b * cosine + a * sine for the firsts a and the seconds b, which are
    then joined. Elements behind those that are turned may be handed on. Cosine and sine must stretch to x. Where
    sizes leave that open, it is checked for each shape.
    """
    for node in graph:
        found = _found(graph, node, context) if node.id in graph and not node.primitive.fused_ops else None
        if found is not None:
            _fuse(graph, node, found)


def _fuse(graph: Graph, node: Node, found: _Turned) -> None:
    read = node.inputs
    graph.replace(node.id, RoPE(
        node.id, (found.data, found.cosine, found.sine), output_padding=node.primitive.output_padding,
        origin=node.primitive.origin, interleaved=found.interleaved, paired=found.paired, rotated=found.rotated))
    for port in read:
        graph.remove_unread(port.primitive)


def _found(graph: Graph, node: Node, context: BuildContext) -> _Turned | None:
    if is_add(node.primitive):
        return _in_sum(graph, node, context)
    if isinstance(node.primitive, Reshape):
        return _in_pairs(graph, node, Port(node.id), context)
    if not isinstance(node.primitive, Concat) or not is_along_last(node):
        return None
    return _in_concat(graph, node, context)


# -- x * cosine + turned * sine ---------------------------------------------------------------------


def _in_sum(graph: Graph, node: Node, context: BuildContext) -> _Turned | None:
    for straight, turned in (node.inputs, node.inputs[::-1]):
        for source, sine in _factors(graph, _unconverted(graph, turned)):
            found = _turned_data(graph, _unconverted(graph, source), context)
            if found is None or graph.element_type(found[0]) != node.layouts[0].element_type:
                continue
            data, interleaved = found
            for same, cosine in _factors(graph, _unconverted(graph, straight)):
                width = graph.layout(data).shape[-1]
                if _unconverted(graph, same) == data and all(_stretches(graph, x, data, width) for x in (cosine, sine)):
                    return _Turned(data, cosine, sine, interleaved)
    return None


def _turned_data(graph: Graph, port: Port, context: BuildContext) -> tuple[Port, bool] | None:
    """x, if a tensor is x with the elements of each pair exchanged and the then first negated; are they neighbours?"""
    joined = joined_pairs(graph, port, context)
    negative = None if joined is None else _negated(graph, joined.first, context)
    if joined is None or negative is None:
        return None
    found = pairs_of(graph, joined.second, negative, context)
    return found if found is not None and found[1] == joined.interleaved else None


def _negated(graph: Graph, port: Port, context: BuildContext) -> Port | None:
    """x of -x."""
    node = graph[port.primitive]
    if isinstance(node.primitive, Eltwise) and node.primitive.mode == "Negative" and not node.primitive.fused_ops:
        return node.inputs[0]
    return next((data for data, factor in _factors(graph, port) if context.number(graph, factor) == -1), None)


# -- firsts and seconds apart -----------------------------------------------------------------------


def _in_pairs(graph: Graph, node: Node, port: Port, context: BuildContext) -> _Turned | None:
    """Of firsts and seconds that are turned and then joined to a tensor."""
    joined = joined_pairs(graph, port, context)
    if joined is None:
        return None
    parts = _turned_parts(graph, joined.first, joined.second)
    found = None if parts is None else pairs_of(graph, *parts[:2], context)
    if parts is None or found is None or found[1] != joined.interleaved:
        return None
    (data, interleaved), (cosine, sine) = found, parts[2:]
    width = graph.layout(data).shape[-1]
    if not isinstance(width, int) or graph.element_type(data) != node.layouts[0].element_type:
        return None
    if not all(_stretches(graph, x, data, width // 2) for x in (cosine, sine)):
        return None
    return _Turned(data, cosine, sine, interleaved, paired=True)


def _turned_parts(graph: Graph, first: Port, second: Port) -> tuple[Port, Port, Port, Port] | None:
    """a, b, cosine and sine, if `first` is a * cosine - b * sine and `second` is b * cosine + a * sine."""
    lower, upper = (graph[_unconverted(graph, port).primitive] for port in (first, second))
    if not isinstance(lower.primitive, Eltwise) or lower.primitive.mode != "Subtract" or lower.primitive.fused_ops:
        return None
    if not is_add(upper.primitive) or upper.primitive.fused_ops:
        return None
    straight, crossed = (_plain_factors(graph, port) for port in lower.inputs)
    sums = {(x, y) for p, q in (upper.inputs, upper.inputs[::-1])
            for x in _plain_factors(graph, p) for y in _plain_factors(graph, q)}
    return next(((a, b, cosine, sine) for a, cosine in straight for b, sine in crossed
                 if ((b, cosine), (a, sine)) in sums), None)


def _plain_factors(graph: Graph, port: Port) -> tuple[tuple[Port, Port], ...]:
    return tuple((_unconverted(graph, one), other) for one, other in _factors(graph, _unconverted(graph, port)))


# -- elements that are handed on --------------------------------------------------------------------


def _in_concat(graph: Graph, node: Node, context: BuildContext) -> _Turned | None:
    """Of a tensor that is turned, or of its first elements, which are followed by the others."""
    *_, rest = node.inputs
    if len(node.inputs) == 2:
        before = graph[node.inputs[0].primitive]
        if not isinstance(before.primitive, RoPE):
            return _in_pairs(graph, node, Port(node.id), context)
        if before.primitive.rotated or before.primitive.fused_ops or before.primitive.output_padding:
            return None
        made, (data, cosine, sine) = before.primitive, before.inputs
        turned: _Turned | None = _Turned(data, cosine, sine, made.interleaved, made.paired)
    else:
        turned = _in_pairs(graph, node, Port(node.id), context) if len(node.inputs) == 3 else None
    whole = None if turned is None else ends_of(graph, turned.data, rest, context)
    if turned is None or whole is None or graph.element_type(whole) != node.layouts[0].element_type:
        return None
    width = graph.layout(turned.data).shape[-1]
    assert isinstance(width, int)
    return replace(turned, data=whole, rotated=width)


# -- products ---------------------------------------------------------------------------------------


def _unconverted(graph: Graph, port: Port) -> Port:
    """A tensor before it was converted from one float type to another, in which the kernel need not store it."""
    node = graph[port.primitive]
    while isinstance(node.primitive, Convert) and not node.primitive.fused_ops and all(
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
    return (isinstance(primitive, Eltwise) and primitive.mode == "Multiply" and not primitive.fused_ops
            and node.layouts[0].element_type.is_float)


def _stretches(graph: Graph, port: Port, data: Port, width: Size) -> bool:
    """Whether a factor holds floats, and sizes that are known do not keep it from stretching to the data, cut to a
    width."""
    factor, whole = graph.layout(port), (*graph.layout(data).shape[:-1], width)
    return factor.element_type.is_float and factor.rank <= len(whole) and all(
        size in (1, other) if isinstance(size, int) else not isinstance(other, int)
        for size, other in zip(reversed(factor.shape), reversed(whole), strict=False))
