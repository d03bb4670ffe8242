"""How a kernel sees a tensor: sizes, pitches and an offset, derived from a layout.

A view need not be the layout's own: a broadcast axis has pitch 0, a transposed view has its axes
in another order. Values unknown until run time are None (or a `Dim` among the sizes); they become
arguments of the kernel, all others constants.
"""
from __future__ import annotations

import math
from dataclasses import dataclass, replace

from clinfer.base.element_type import ElementType
from clinfer.base.layout import Layout
from clinfer.base.memo import memo
from clinfer.base.shape import Shape, Size

Pitch = int | None


@dataclass(frozen=True)
class AxisBlocks:
    """The inner blocks of an axis: (size, pitch) outermost first, and the padding before the axis."""

    levels: tuple[tuple[int, int], ...]
    lower: int

    def index_of(self, coordinate: int, pitch: Pitch) -> Pitch:
        """Where a coordinate of the axis stands, given the pitch of whole blocks."""
        whole = math.prod(size for size, _ in self.levels)
        outer, rest = divmod(coordinate + self.lower, whole)
        start = outer * pitch if pitch is not None else 0 if outer == 0 else None
        for size, inner in self.levels:
            whole //= size
            start = None if start is None else start + rest // whole % size * inner
        return start


@dataclass(frozen=True)
class TensorView:
    """Sizes, pitches (in elements) and offset (in elements) of a tensor as one kernel indexes it."""

    element_type: ElementType
    sizes: Shape
    pitches: tuple[Pitch, ...]
    offset: Pitch
    blocks: tuple[AxisBlocks | None, ...]

    @property
    def rank(self) -> int:
        return len(self.sizes)

    @staticmethod
    def of(layout: Layout) -> TensorView:
        """The view that indexes a layout by its own logical coordinates."""
        return _view_of(layout)

    @staticmethod
    def dense(element_type: ElementType, sizes: Shape) -> TensorView:
        """A row-major view of sizes that the caller chose (of memory without padding)."""
        pitches: list[Pitch] = []
        stride: Pitch = 1
        for size in reversed(sizes):
            pitches.insert(0, stride)
            stride = _times(stride, size)
        return TensorView(element_type, tuple(sizes), tuple(pitches), 0, (None,) * len(sizes))

    def permute(self, order: tuple[int, ...]) -> TensorView:
        """The same memory with axes in another order (`order[i]`: which axis stands at i)."""
        return replace(self, sizes=tuple(self.sizes[a] for a in order),
                       pitches=tuple(self.pitches[a] for a in order),
                       blocks=tuple(self.blocks[a] for a in order))

    def insert_axes(self, positions: tuple[int, ...], pitch: int = 0) -> TensorView:
        """Axes of size 1 put in, so that they stand at `positions` of the result.

        With a pitch other than 0 they look like any other axis, so that one build serves several ranks.
        """
        sizes, pitches, blocks = list(self.sizes), list(self.pitches), list(self.blocks)
        for position in sorted(positions):
            sizes.insert(position, 1)
            pitches.insert(position, pitch)
            blocks.insert(position, None)
        return replace(self, sizes=tuple(sizes), pitches=tuple(pitches), blocks=tuple(blocks))

    def broadcast(self, sizes: Shape) -> TensorView:
        """Stretched to `sizes` by NumPy's rule (right-aligned); stretched axes have pitch 0."""
        lifted = self.insert_axes(tuple(range(len(sizes) - self.rank)))
        pitches = tuple(_broadcast_pitch(have, want, pitch) for have, want, pitch
                        in zip(lifted.sizes, sizes, lifted.pitches, strict=True))
        stretched = [have is not want and have != want and have == 1
                     for have, want in zip(lifted.sizes, sizes, strict=True)]
        blocks = tuple(None if s else block for s, block in zip(stretched, lifted.blocks, strict=True))
        offset = lifted.offset
        for axis, block in enumerate(lifted.blocks):
            if block is not None and stretched[axis]:
                start = block.index_of(0, lifted.pitches[axis])
                offset = None if offset is None or start is None else offset + start
        return replace(lifted, sizes=tuple(sizes), pitches=pitches, blocks=blocks, offset=offset)

    def is_aligned(self, within: int, chunk: int) -> bool:
        """Whether rows along the axis `within` lie together and start at multiples of `chunk`, whatever the open sizes
        are."""
        starts = [self.offset, *(pitch for axis, (size, pitch) in enumerate(zip(self.sizes, self.pitches, strict=True))
                                 if axis != within % self.rank and size != 1)]
        return (self.pitches[within] == 1 or self.sizes[within] == 1) and all(
            number is not None and number % chunk == 0 for number in starts)


@memo(maxsize=4096)
def _view_of(layout: Layout) -> TensorView:
    fmt = layout.format
    stride: Pitch = 1
    inner: dict[int, list[tuple[int, int]]] = {}
    for axis, size in reversed(fmt.block_axes):
        inner.setdefault(axis, []).insert(0, (size, stride or 0))
        stride = _times(stride, size)
    pitches: list[Pitch] = [0] * layout.rank
    for axis in reversed(fmt.order_of(layout.rank)):
        pitches[axis] = stride
        stride = _times(stride, _outer_size(layout, axis))
    offset: Pitch = 0
    for axis, pitch in enumerate(pitches):
        if axis not in inner and layout.padding.low(axis):
            offset = None if offset is None or pitch is None else offset + layout.padding.low(axis) * pitch
    blocks = tuple(AxisBlocks(tuple(inner[a]), layout.padding.low(a)) if a in inner else None
                   for a in range(layout.rank))
    return TensorView(layout.element_type, layout.shape, tuple(pitches), offset, blocks)


def _times(stride: Pitch, size: Size) -> Pitch:
    return stride * size if stride is not None and isinstance(size, int) else None


def _outer_size(layout: Layout, axis: int) -> Size:
    size = layout.shape[axis]
    if not isinstance(size, int):
        return size
    block = layout.format.block_of(axis)
    return -(-(size + layout.padding.both(axis)) // block)


def _broadcast_pitch(have: Size, want: Size, pitch: Pitch) -> Pitch:
    # Of symbols that are equal no trace has to ask whether they are 1.
    if isinstance(have, int) and (have is want or have == want):
        return pitch
    if have == 1:
        return 0
    return pitch if isinstance(have, int) else None
