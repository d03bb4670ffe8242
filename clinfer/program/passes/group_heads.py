"""Lets attention read each head of key and value for a group of the query's heads, where a model repeats them."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from clinfer.base.part import Part
from clinfer.base.shape import Shape, Size
from clinfer.ops.broadcast import Broadcast
from clinfer.ops.concat import Concat
from clinfer.ops.gather import Gather
from clinfer.ops.reshape import Reshape
from clinfer.ops.sdpa import ScaledDotProductAttention
from clinfer.ops.tile import Tile
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.size_names import SizeNames
from clinfer.program.size_values import SizeValues
from clinfer.symbolic.dimensions import NamedDim
from clinfer.topology import Port

_Same = Mapping[NamedDim, Size]


@dataclass(frozen=True)
class _Heads:
    """A tensor of which attention sees a part, in which each head is to stand `times` times, one behind the other."""

    port: Port
    part: Part
    times: int


def group_heads(graph: Graph, context: BuildContext) -> None:
    """Take out what repeats the heads of key and value equally often, and does nothing else to them for certain.

    The heads of [..., heads, ...] are repeated along an axis of their own, which is then joined with theirs by a
    reshape; or along their own if there is one head, or where they are gathered.
    """
    repeats = _Repeats(graph, context)
    for node in graph:
        repeats.reached(node)
        if isinstance(node.primitive, ScaledDotProductAttention) and node.primitive.groups == 1:
            key = repeats.found(node, 1)
            value = None if key is None else repeats.found(node, 2, repeats.length(key))
            if key is not None and value is not None and key.times == value.times:
                _fuse(graph, node, key, value, context)


def _fuse(graph: Graph, node: Node, key: _Heads, value: _Heads, context: BuildContext) -> None:
    read = node.inputs[1:3]
    primitive = cast(ScaledDotProductAttention, node.primitive)
    primitive = primitive.reading(1, key.port, key.part).reading(2, value.port, value.part)
    graph.replace(node.id, replace(primitive, groups=key.times))
    node.layouts = context.infer(graph, node)
    for port in read:
        graph.remove_unread(port.primitive)


class _Repeats:
    """Finds repeated heads. Sizes get names when one is first needed, and then node by node, as the pass leaves them:
    what lies behind attention has the names of what is read in place of the repeated heads."""

    def __init__(self, graph: Graph, context: BuildContext) -> None:
        self._graph, self._context = graph, context
        self._made: tuple[SizeNames, SizeValues] | None = None
        self._at = ""

    def reached(self, node: Node) -> None:
        """The pass has come to a node, and is done with those before it."""
        if self._made is not None and self._at in self._graph:
            self._made[0].name(self._graph[self._at])
        self._at = node.id

    def length(self, heads: _Heads) -> Size:
        """What the length (axis -2) of what attention sees is called."""
        return self._shape(heads.port)[heads.part.axes[-2]]

    def found(self, node: Node, index: int, length: Size | None = None) -> _Heads | None:
        """Key or value before its heads were repeated; `length` is another name of its length, if there is one."""
        port, primitive = node.inputs[index], cast(ScaledDotProductAttention, node.primitive)
        part = primitive.part(index, self._graph.layout(port).rank)
        while len(part.axes) > 2:
            axis = part.axes[-3]
            if all(axis != cut for cut, _, _ in part.cuts) and (
                    source := self._source(port, axis, part.axes[-2], length)) is not None:
                return _Heads(source[0], part, source[1])
            step = self._context.as_part(self._graph, port)
            if step is None:
                return None
            port, part = self._graph[port.primitive].inputs[0], part.behind(step)
        return None

    def _source(self, port: Port, axis: int, rows: int, length: Size | None) -> tuple[Port, int] | None:
        """What a tensor is but for an axis, each element of which stands several times in it, and how often.

        The size of its axis `rows` is `length`."""
        node = self._graph[port.primitive]
        if not _is_plain(node):
            return None
        if isinstance(node.primitive, Gather):
            return self._gathered(node, axis)
        repeat = self._graph[node.inputs[0].primitive] if isinstance(node.primitive, Reshape) else node
        if not isinstance(repeat.primitive, (Broadcast, Tile, Concat)) or not _is_plain(repeat):
            return None
        raised = None if repeat is node else self._graph[repeat.inputs[0].primitive]
        source = repeat.inputs[0] if raised is None else raised.inputs[0] if _is_plain(raised) else None
        if source is None or self._graph.layout(source).rank != node.layouts[0].rank:
            return None
        shape = self._shape(source)
        same = {length: shape[rows]} if isinstance(length, NamedDim) else {}
        times = self._times(repeat, axis + (repeat is not node), same)
        if times is None or (raised is not None and not (
                self._is_raised(raised, shape, axis) and self._is_joined(node, shape, axis, times, same))):
            return None
        return source, times

    def _is_raised(self, node: Node, shape: Shape, axis: int) -> bool:
        """Whether a tensor of that shape gets an axis of size 1 behind another, and nothing else is done."""
        return node.primitive.reinterprets_input and (
            self._shape(Port(node.id)) == (*shape[:axis + 1], 1, *shape[axis + 1:]))

    def _is_joined(self, node: Node, shape: Shape, axis: int, times: int, same: _Same) -> bool:
        """Whether a reshape of (*shape[:axis + 1], times, *shape[axis + 1:]) joins the repetitions with their axis."""
        heads = shape[axis]
        return isinstance(heads, int) and cast(Reshape, node.primitive).surely_gives(
            (*shape[:axis + 1], times, *shape[axis + 1:]), (*shape[:axis], heads * times, *shape[axis + 1:]),
            self._values(node.inputs[1], same), node.layouts[0].shape)

    def _times(self, node: Node, axis: int, same: _Same) -> int | None:
        """How often a primitive repeats input 0 along an axis of size 1, if it does nothing else."""
        primitive, rank = node.primitive, node.layouts[0].rank
        shape = self._graph.layout(node.inputs[0]).shape
        if len(shape) != rank or shape[axis] != 1:
            return None
        if isinstance(primitive, Concat):
            return len(node.inputs) if len(set(node.inputs)) == 1 and primitive.axis % rank == axis else None
        if isinstance(primitive, Tile):
            kept: Shape = (1,) * rank
        elif isinstance(primitive, Broadcast) and primitive.mode != "explicit":
            kept = self._shape(node.inputs[0])
        else:
            return None
        target = self._values(node.inputs[1], same)
        target = (*(1,) * (rank - len(target)), *target) if target else ()
        if len(target) != rank:
            return None
        times, others = target[axis], (*target[:axis], 1, *target[axis + 1:])
        stays = all(size == 1 or size == own for size, own in zip(others, kept, strict=True))
        return times if isinstance(times, int) and times > 0 and stays else None

    def _gathered(self, node: Node, axis: int) -> tuple[Port, int] | None:
        """What each element of an axis is gathered from as often as the others, one behind the other."""
        primitive, data = cast(Gather, node.primitive), self._graph.layout(node.inputs[0])
        places, along = (self._context.known_value(self._graph, port) for port in node.inputs[1:3])
        size = data.shape[axis] if data.rank == node.layouts[0].rank else None
        if primitive.batch_dims or places is None or along is None or not isinstance(size, int) or places.ndim != 1:
            return None
        times = len(places) // size if size else 0
        if int(along.reshape(())) % data.rank != axis or not times or not np.array_equal(
                places, np.repeat(np.arange(size), times)):
            return None
        return node.inputs[0], times

    def _names(self) -> tuple[SizeNames, SizeValues]:
        if self._made is None:
            names = SizeNames(self._graph, self._context, self._at)
            self._made = names, SizeValues(self._graph, self._context, names)
        return self._made

    def _shape(self, port: Port) -> Shape:
        return self._names()[0].shape(port)

    def _values(self, port: Port, same: _Same) -> tuple[Size | None, ...]:
        return tuple(same.get(size, size) if isinstance(size, NamedDim) else size
                     for size in self._names()[1].of(port))


def _is_plain(node: Node) -> bool:
    return bool(node.inputs) and not node.primitive.output_padding and not node.primitive.fused_ops and not node.on_host
