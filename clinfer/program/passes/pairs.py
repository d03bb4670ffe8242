"""How models take the last axis apart into pairs of elements, and put it together again."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clinfer.base.part import Part
from clinfer.ops.concat import Concat
from clinfer.ops.reshape import Reshape, Unsqueeze
from clinfer.ops.slice import Cut
from clinfer.ops.transpose import Transpose
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Port


@dataclass(frozen=True)
class JoinedPairs:
    """Firsts and seconds of pairs, which lie side by side if they are `interleaved`, else half after half."""

    first: Port
    second: Port
    interleaved: bool


def is_along_last(node: Node) -> bool:
    """Whether a Concat joins its inputs along the last axis."""
    primitive, last = node.primitive, node.layouts[0].rank - 1
    return isinstance(primitive, Concat) and last >= 0 and primitive.axis in (-1, last) and not primitive.fused_ops


def joined_pairs(graph: Graph, port: Port, context: BuildContext) -> JoinedPairs | None:
    """The firsts and seconds of which a tensor, or what a third input of a Concat does not add to it, is made."""
    node = graph[port.primitive]
    if isinstance(node.primitive, Reshape):
        return _interleaved(graph, node, context)
    if not is_along_last(node) or len(node.inputs) not in (2, 3):
        return None
    first, second = node.inputs[:2]
    size, other = (graph.layout(x).shape[-1] for x in (first, second))
    return JoinedPairs(first, second, False) if isinstance(size, int) and size == other else None


def pairs_of(graph: Graph, first: Port, second: Port, context: BuildContext) -> tuple[Port, bool] | None:
    """x, if these are the firsts and seconds of the pairs of x; and whether each pair lies side by side."""
    even, odd = _every_second(graph, first, context), _every_second(graph, second, context)
    if even is not None and odd is not None:
        return (even[0], True) if even[0] == odd[0] and (even[1], odd[1]) == (0, 1) else None
    common = _common_source(graph, first, second, context)
    if common is None:
        return None
    source, *parts = common
    layout = graph.layout(source)
    size, last, whole = layout.shape[-1], layout.rank - 1, Part.whole(layout.rank)
    if not isinstance(size, int) or size % 2:
        return None
    if parts == [whole.cut(last, 0, size // 2), whole.cut(last, size // 2, size)]:
        shuffled = _unshuffled(graph, source, context)
        return (source, False) if shuffled is None else (shuffled, True)
    if size == 2 and parts == [whole.cut(last, i, i + 1).without(last) for i in (0, 1)]:
        divided = _divided(graph, source, context)
        return None if divided is None else (divided, True)
    return None


def ends_of(graph: Graph, first: Port, second: Port, context: BuildContext) -> Port | None:
    """x, if these are its first elements along the last axis and the others."""
    common = _common_source(graph, first, second, context)
    if common is None:
        return None
    source, *parts = common
    size, width = graph.layout(source).shape[-1], graph.layout(first).shape[-1]
    if not isinstance(size, int) or not isinstance(width, int):
        return None
    whole, last = Part.whole(graph.layout(source).rank), graph.layout(source).rank - 1
    return source if parts == [whole.cut(last, 0, width), whole.cut(last, width, size)] else None


# -- parts ------------------------------------------------------------------------------------------


def _common_source(graph: Graph, first: Port, second: Port, context: BuildContext) -> tuple[Port, Part, Part] | None:
    """The nearest tensor of which both are parts, and the parts."""
    known = dict(_sources(graph, first, context))
    return next(((port, known[port], part) for port, part in _sources(graph, second, context) if port in known), None)


def _sources(graph: Graph, port: Port, context: BuildContext) -> Iterator[tuple[Port, Part]]:
    """What a tensor is a part of, from itself on."""
    part = Part.whole(graph.layout(port).rank)
    yield port, part
    while (step := context.as_part(graph, port)) is not None:
        port, part = graph[port.primitive].inputs[0], part.behind(step)
        yield port, part


def _every_second(graph: Graph, port: Port, context: BuildContext) -> tuple[Port, int] | None:
    """x and s of x[..., s::2], if that is half of x."""
    node = graph[port.primitive]
    primitive = node.primitive
    if not isinstance(primitive, Cut) or primitive.fused_ops or primitive.output_padding:
        return None
    shape, values = graph.layout(node.inputs[0]).shape, context.known_values(graph, node)
    start = primitive.every_second(shape, values)
    return None if start is None else (node.inputs[0], start)


# -- reshapes ---------------------------------------------------------------------------------------


def _interleaved(graph: Graph, node: Node, context: BuildContext) -> JoinedPairs | None:
    """Of a reshape that joins the last two axes: [..., n, 2], stacked or transposed from [..., 2, n]."""
    if not _merges(graph, node, context) or graph.layout(node.inputs[0]).shape[-1] != 2:
        return None
    inner = graph[node.inputs[0].primitive]
    if is_along_last(inner) and len(inner.inputs) == 2:
        first, second = (_before_last_axis(graph, port, context) for port in inner.inputs)
        return None if first is None or second is None else JoinedPairs(first, second, True)
    halves = _divided(graph, _exchanged(graph, inner, context), context)
    if halves is None or not is_along_last(graph[halves.primitive]) or len(graph[halves.primitive].inputs) != 2:
        return None
    joined = joined_pairs(graph, halves, context)
    return None if joined is None else JoinedPairs(joined.first, joined.second, True)


def _unshuffled(graph: Graph, port: Port, context: BuildContext) -> Port | None:
    """x, if a tensor holds the firsts of its neighbouring pairs, then the seconds."""
    node = graph[port.primitive]
    if not isinstance(node.primitive, Reshape) or not _merges(graph, node, context):
        return None
    pairs = _exchanged(graph, graph[node.inputs[0].primitive], context)
    return _divided(graph, pairs, context) if pairs is not None and graph.layout(pairs).shape[-1] == 2 else None


def _exchanged(graph: Graph, node: Node, context: BuildContext) -> Port | None:
    """What a transpose exchanges the last two axes of."""
    rank = node.layouts[0].rank
    if not isinstance(node.primitive, Transpose) or rank < 2:
        return None
    wanted = Part((*range(rank - 2), rank - 1, rank - 2))
    return node.inputs[0] if context.as_part(graph, Port(node.id)) == wanted else None


def _before_last_axis(graph: Graph, port: Port, context: BuildContext) -> Port | None:
    """What an axis of size 1 is put behind."""
    node, last = graph[port.primitive], graph.layout(port).rank - 1
    if not isinstance(node.primitive, Unsqueeze) or node.primitive.output_padding:
        return None
    axes = context.known_value(graph, node.inputs[1])
    return node.inputs[0] if axes is not None and axes.reshape(-1).tolist() in ([last], [-1]) else None


def _divided(graph: Graph, port: Port | None, context: BuildContext) -> Port | None:
    """What a reshape makes two axes of the last one of, if it does nothing else."""
    node = None if port is None else graph[port.primitive]
    if node is None or not isinstance(node.primitive, Reshape) or node.layouts[0].rank < 2:
        return None
    *_, rows, columns = node.layouts[0].shape
    given = _sizes(graph.layout(node.inputs[0]).shape)
    if not isinstance(rows, int) or not isinstance(columns, int) or given[-1:] != (rows * columns,):
        return None
    return node.inputs[0] if _gives(graph, node, given, (*given[:-1], rows, columns), context) else None


def _merges(graph: Graph, node: Node, context: BuildContext) -> bool:
    """Whether a reshape makes one axis of the last two, and nothing else."""
    given = _sizes(graph.layout(node.inputs[0]).shape)
    if len(given) < 2 or not isinstance(given[-1], int) or not isinstance(given[-2], int):
        return False
    return _gives(graph, node, given, (*given[:-2], given[-2] * given[-1]), context)


def _gives(graph: Graph, node: Node, given: tuple[object, ...], wanted: tuple[object, ...],
           context: BuildContext) -> bool:
    pattern = context.known_value(graph, node.inputs[1])
    primitive = node.primitive
    return (isinstance(primitive, Reshape) and not primitive.output_padding and pattern is not None
            and primitive.surely_gives(given, wanted, tuple(pattern.reshape(-1).tolist()), node.layouts[0].shape))


def _sizes(shape: tuple[object, ...]) -> tuple[object, ...]:
    """The sizes of a tensor, each dynamic one equal to itself alone."""
    return tuple(size if isinstance(size, int) else ("axis", axis) for axis, size in enumerate(shape))
