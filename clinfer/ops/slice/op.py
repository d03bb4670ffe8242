"""The slicing primitives (OpenVINO Slice-8, StridedSlice-1)."""
from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.part import Part
from clinfer.base.shape import Dim, Shape, Size, StaticShape, empty, show
from clinfer.ops.shared.shape_rules import cut
from clinfer.ops.shared.views import Index, Indexing, nearest
from clinfer.symbolic.shape_inference import Values

_WHOLE = (slice(None), slice(None, None, 1))


@dataclass(frozen=True)
class Cut(Indexing, ABC):
    """A part of input 0 that the values of all other inputs describe."""

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return tuple(range(1, len(self.inputs)))

    @property
    def picked_inputs(self) -> tuple[int, ...]:
        return (0,)

    @property
    def can_evaluate(self) -> bool:
        return True

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        return None if shapes[0] is None else sliced(shapes[0], self.index_of(values, len(shapes[0])))

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        index = self.index_of(dict(enumerate(values)), values[0].ndim)
        assert index is not None
        self.check_inputs((values[0].shape,), dict(enumerate(values)), ())
        sizes = iter(values[0].shape)
        within = tuple(entry if entry is None else _within(next(sizes), entry) for entry in index)
        return (np.array(values[0][within], order="C"),)

    def as_part(self, output: int, shape: Shape, values: Values) -> Part | None:
        index = self.index_of(values, len(shape)) if all(i in values for i in self.value_inputs) else None
        if index is None or len(index) != len(shape):
            return None
        part, dropped = Part.whole(len(shape)), []
        for axis, (entry, size) in enumerate(zip(index, shape, strict=True)):
            if entry in _WHOLE:
                continue
            if entry is None or not isinstance(size, int):
                return None
            if isinstance(entry, int):
                if not -size <= entry < size:
                    return None
                start, count, step = entry % size, 1, 1
                dropped.append(axis)
            else:
                start, count, step = cut(size, entry.start, entry.stop, entry.step)
            if step != 1:
                return None
            part = part.cut(axis, start, start + count)
        for axis in reversed(dropped):
            part = part.without(axis)
        return part

    def every_second(self, shape: Shape, values: Values) -> int | None:
        """s of [..., s::2], if that is what is cut, and half of the elements; `values`: those that are known."""
        index = self.index_of(values, len(shape)) if all(i in values for i in self.value_inputs) else None
        if not index or len(index) != len(shape) or any(
                entry not in _WHOLE for entry in index[:-1]):
            return None
        entry, size = index[-1], shape[-1]
        if not isinstance(entry, slice) or not isinstance(size, int):
            return None
        start, count, step = cut(size, entry.start, entry.stop, entry.step)
        return start if step == 2 and start in (0, 1) and 2 * count == size else None

@dataclass(frozen=True)
class Slice(Cut):
    """Input 0 cut to start (1), stop (2), step (3) along the axes (4; missing: the first ones)."""

    op_type: ClassVar[str] = "Slice"
    opset: ClassVar[str] = "opset8"

    def index_of(self, values: Values, rank: int) -> Index | None:
        if any(i not in values for i in self.value_inputs):
            return None
        start, stop, step = (values[i].reshape(-1).tolist() for i in (1, 2, 3))
        axes = values[4].reshape(-1).tolist() if 4 in values else range(len(start))
        index = [slice(None)] * rank
        for axis, a, b, c in zip(axes, start, stop, step, strict=True):
            index[int(axis)] = slice(a, b, c)
        return tuple(index)


@dataclass(frozen=True)
class StridedSlice(Cut):
    """Input 0 cut to begin (1), end (2), strides (3; missing: 1), as far as the masks leave them in force."""

    begin_mask: tuple[int, ...] = ()
    end_mask: tuple[int, ...] = ()
    new_axis_mask: tuple[int, ...] = ()
    shrink_axis_mask: tuple[int, ...] = ()
    ellipsis_mask: tuple[int, ...] = ()
    op_type: ClassVar[str] = "StridedSlice"

    def index_of(self, values: Values, rank: int) -> Index | None:
        if any(i not in values for i in self.value_inputs):
            return None
        begin, end = values[1].reshape(-1).tolist(), values[2].reshape(-1).tolist()
        strides = values[3].reshape(-1).tolist() if 3 in values else [1] * len(begin)
        index: list[slice | int | None] = []
        rest = rank - sum(not self._marks(self.new_axis_mask, i) and not self._marks(self.ellipsis_mask, i)
                          for i in range(len(begin)))
        for i, (a, b, c) in enumerate(zip(begin, end, strides, strict=True)):
            if self._marks(self.ellipsis_mask, i):
                index += [slice(None)] * rest
                rest = 0
            else:
                index.append(self._entry(i, a, b, c))
        return (*index, *[slice(None)] * rest)

    def _entry(self, i: int, begin: int, end: int, stride: int) -> slice | int | None:
        if self._marks(self.new_axis_mask, i):
            return None
        if self._marks(self.shrink_axis_mask, i):
            return 0 if self._marks(self.begin_mask, i) else begin
        return slice(None if self._marks(self.begin_mask, i) else begin,
                     None if self._marks(self.end_mask, i) else end, stride)

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        entries = [entry for entry in self.index_of(values, len(shapes[0])) or () if entry is not None]
        if not empty(outputs) and any(size == 0 and not isinstance(entry, slice)
                                      for size, entry in zip(shapes[0], entries, strict=False)):
            raise ClinferError("of an axis without elements none can be taken", where=self.where,
                               values={"data": show(shapes[0]), "begin": values[1], "shrink": self.shrink_axis_mask})

    @staticmethod
    def _marks(mask: tuple[int, ...], i: int) -> bool:
        return i < len(mask) and bool(mask[i])


def _within(size: int, entry: slice | int) -> slice | int:
    """What selects the same in Python."""
    if not isinstance(entry, slice):
        return nearest(size, entry)
    start, count, step = cut(size, entry.start, entry.stop, entry.step)
    stop = start + count * step
    return slice(start, None if stop < 0 else stop, step) if count else slice(0)


def sliced(shape: Shape, index: Index | None) -> tuple[Shape, ...] | None:
    """The shape of what an index over all axes selects; None where it is no such index, or cuts an open size."""
    if index is None or sum(entry is not None for entry in index) != len(shape):
        return None
    sizes = iter(shape)
    found: list[Size] = []
    for entry in index:
        size = 1 if entry is None else next(sizes)
        if entry is None:
            found.append(1)
        elif entry in _WHOLE:
            found.append(size)
        elif isinstance(size, Dim):
            return None
        elif not isinstance(entry, slice):
            if not -size <= entry < size:
                return None
        elif entry.step is not None and entry.step == 0:
            return None
        else:
            found.append(cut(size, entry.start, entry.stop, entry.step)[1])
    return (tuple(found),)
