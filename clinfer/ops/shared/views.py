"""Views of tensors that operations derive: open ones, and parts cut out of others."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from clinfer.base.element_type import ElementType
from clinfer.base.layout import Layout
from clinfer.base.shape import ANY, Shape, Size, StaticShape
from clinfer.base.tensor_view import AxisBlocks, Pitch, TensorView
from clinfer.ops.shared.shape_rules import cut
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive

Index = tuple[slice | int | None, ...]


@dataclass(frozen=True)
class Indexing(Primitive, ABC):
    """A primitive whose output is what NumPy's basic indexing selects of input 0."""

    @abstractmethod
    def index_of(self, values: Values, rank: int) -> Index | None:
        """What is selected, over all axes, or None while a value is unknown."""


def open_view(element_type: ElementType, rank: int) -> TensorView:
    """A view of which only the rank is known: the stand-in while shapes or values are."""
    return TensorView(element_type, (ANY,) * rank, (None,) * rank, None, (None,) * rank)


def is_static_view(view: TensorView) -> bool:
    """Whether every number of a view is known."""
    return (view.offset is not None and all(isinstance(s, int) for s in view.sizes)
            and all(p is not None for p in view.pitches))


def static(sizes: Shape) -> StaticShape:
    """The sizes of a view as numbers to calculate with; what they give is open where they are."""
    return sizes  # type: ignore[return-value]


def at_least_one_axis(view: TensorView) -> TensorView:
    """The view; that of a scalar with an axis of size 1."""
    return view if view.rank else index_view(view, (None,))


def index_view(view: TensorView, index: Index) -> TensorView:
    """The part of a view that NumPy's basic indexing selects; `index` has an entry for every axis.

    None inserts an axis of size 1, a number removes an axis; one beyond its ends means the nearest end. Numbers
    that depend on sizes which are not known yet are open. A blocked axis must have a static size and be cut with
    step 1.
    """
    sizes: list[Size] = []
    pitches: list[Pitch] = []
    blocks: list[AxisBlocks | None] = []
    offset = view.offset
    axis = 0
    for entry in index:
        if entry is None:
            sizes, pitches, blocks = [*sizes, 1], [*pitches, 1], [*blocks, None]
            continue
        size, pitch, inner, start = _cut_axis(view, axis, entry)
        offset = None if offset is None or start is None else offset + start
        if isinstance(entry, slice):
            sizes, pitches, blocks = [*sizes, size], [*pitches, pitch], [*blocks, inner]
        axis += 1
    return TensorView(view.element_type, tuple(sizes), tuple(pitches), offset, tuple(blocks))


def _cut_axis(view: TensorView, axis: int, entry: slice | int) -> tuple[Size, Pitch, AxisBlocks | None, Pitch]:
    """(size, pitch, blocks, offset) of one axis after indexing it."""
    size, pitch, blocks = view.sizes[axis], view.pitches[axis], view.blocks[axis]
    if entry == slice(None):
        return size, pitch, blocks, 0
    if not isinstance(size, int):
        assert blocks is None, "a blocked axis of unknown size cannot be cut"
        return ANY, None, None, None
    if isinstance(entry, slice):
        start, count, step = cut(size, entry.start, entry.stop, entry.step)
    else:
        start, count, step = nearest(size, entry), 1, 1
    if blocks is not None:
        assert step == 1 and isinstance(entry, slice), "a blocked axis can only be cut with step 1"
        return count, pitch, replace(blocks, lower=blocks.lower + start), 0
    return count, None if pitch is None else pitch * step, None, None if pitch is None else start * pitch


def nearest(size: int, place: int) -> int:
    """The place within an axis of that size, which has one, that is nearest to `place`; -1 is the last."""
    return min(max(place if place >= 0 else place + size, 0), size - 1)


def can_cut_blocks(layout: Layout, index: Index) -> bool:
    """Whether every blocked axis of a layout is left whole, or is static and cut with step 1.

    `index` has one slice per axis.
    """
    return all(entry == slice(None) or (isinstance(layout.shape[axis], int) and isinstance(entry, slice)
                                        and entry.step in (None, 1))
               for axis, entry in enumerate(index) if layout.format.block_of(axis) > 1)


def axis_last(view: TensorView, axis: int) -> TensorView:
    """The view with one axis behind the others."""
    return view.permute((*(a for a in range(view.rank) if a != axis), axis))


def along_axis(rank: int, axis: int, start: int, stop: int) -> Index:
    """The index that cuts one axis to [start, stop)."""
    return tuple(slice(start, stop) if a == axis else slice(None) for a in range(rank))


def along_axis_in_turn(rank: int, axis: int, lengths: Sequence[Size]) -> tuple[Index | None, ...]:
    """The indices that cut one axis into parts of these lengths, one behind the other; None where a part's place is
    unknown."""
    places = pairwise((0, *accumulate(static(tuple(lengths)))))
    return tuple(along_axis(rank, axis, *place) if isinstance(place[1], int) else None for place in places)
