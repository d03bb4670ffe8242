"""The reshaping primitives (OpenVINO Reshape-1, Squeeze-1 and -15, Unsqueeze-1, Identity-16)."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.part import Part
from clinfer.base.shape import ANY, Shape, Size, show
from clinfer.ops.shared.shape_rules import distinct_axes, named_axes, without_axes
from clinfer.symbolic.dimensions import differ, is_open
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class _Reshaping(Primitive):
    """Input 0 under the shape that input 1 decides."""

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return tuple(range(1, len(self.inputs)))

    @property
    def reinterprets_input(self) -> bool:
        return True

    @property
    def can_evaluate(self) -> bool:
        return True


@dataclass(frozen=True)
class Reshape(_Reshaping):
    """Input 1 is the new shape: -1 is what remains; with `special_zero` a 0 copies the input's dimension."""

    special_zero: bool = False
    op_type: ClassVar[str] = "Reshape"

    @property
    def partial_values(self) -> tuple[int, ...]:
        return (1,)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        """Sizes that are copied are handed on. What remains for -1 is told by the others; it is 1 where neither these
        nor the others of the new shape have any elements, as with OpenVINO."""
        data = shapes[0]
        if data is None or 1 not in values:
            return None
        pattern = values[1].reshape(-1).tolist()
        if None in pattern:
            return (tuple(ANY if size in (None, -1) else data[i] if size == 0 and self.special_zero and i < len(data)
                          else size for i, size in enumerate(pattern)),)
        copied = {i for i, size in enumerate(pattern) if size == 0 and self.special_zero and i < len(data)}
        sizes: list[Size] = [data[i] if i in copied else size for i, size in enumerate(pattern)]
        left = [i for i, size in enumerate(pattern) if size < 0]
        others = prod(size for i, size in enumerate(pattern) if i not in copied and i not in left)
        total: Size = prod(size for i, size in enumerate(data) if i not in copied)
        if left:
            sizes[left[0]] = total // others if others else 1
            fits = not differ(total % others if others else total, 0)
        else:
            fits = not differ(prod(sizes), prod(data))
        if not fits or len(left) > 1 or any(pattern[i] != -1 for i in left):
            raise ClinferError("the data does not have as many elements as its new shape", where=self.where,
                               values={"data": show(data), "new shape": pattern})
        return (tuple(sizes),)

    def surely_gives(self, given: Sequence[object], wanted: Sequence[object], pattern: Sequence[object],
                     made: Shape) -> bool:
        """Whether it makes a shape of another, of which only some sizes are numbers, whatever the others are.

        `pattern`: what is known of the elements of input 1, None: nothing; `made`: what is known of the result. One
        size may be open: that there are as many elements as before tells it.
        """
        if not len(pattern) == len(wanted) == len(made):
            return False
        sizes = [own if isinstance(own, int) else None if size == -1
                 else given[i] if size == 0 and self.special_zero and i < len(given) else size
                 for i, (own, size) in enumerate(zip(made, pattern, strict=True))]
        wrong = [size for size, other in zip(sizes, wanted, strict=True) if size != other]
        return wrong in ([], [None])

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        shape, = self.infer_shapes((values[0].shape,), {1: values[1]}) or ()
        return (values[0].reshape(shape),)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Squeeze(_Reshaping):
    """Without the axes that input 1 names, which must have size 1; where it names none, without all of size 1.

    `allow_axis_skip` leaves named axes of other sizes in place.
    """

    allow_axis_skip: bool = False
    op_type: ClassVar[str] = "Squeeze"
    opset: ClassVar[str] = "opset15"

    def axes_of_one(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[int, ...]:
        if self.allow_axis_skip or shapes[0] is None or 1 not in values:
            return ()
        return distinct_axes(values[1], len(shapes[0])) or ()

    def as_part(self, output: int, shape: Shape, values: Values) -> Part | None:
        axes = distinct_axes(values[1], len(shape)) if 1 in values else None
        if not axes or any(shape[axis] != 1 for axis in axes):
            return None
        part = Part.whole(len(shape))
        for axis in sorted(axes, reverse=True):
            part = part.cut(axis, 0, 1).without(axis)
        return part

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data = shapes[0]
        if len(shapes) > 1 and 1 not in values and not self.allow_axis_skip:
            # Each axis is named once.
            return (without_axes(shapes),)
        if data is None or (len(shapes) > 1 and 1 not in values):
            return None
        axes = distinct_axes(values[1], len(data)) if len(shapes) > 1 else ()
        if axes is None:
            return None
        skips = self.allow_axis_skip or not axes
        if skips:
            axes = tuple(axis for axis in axes or range(len(data)) if not differ(data[axis], 1))
        if any(is_open((data[axis],)) if skips else differ(data[axis], 1) for axis in axes):
            return None
        return (tuple(size for axis, size in enumerate(data) if axis not in axes),)

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        data, *named = values
        if not data.ndim or not named or not named[0].size:
            return (data.squeeze(),)
        axes = {int(axis) % data.ndim for axis in named[0].reshape(-1)}
        return (data.squeeze(tuple(axis for axis in axes if data.shape[axis] == 1)),)


@dataclass(frozen=True)
class Unsqueeze(_Reshaping):
    """With axes of size 1 where input 1 says they stand in the result."""

    op_type: ClassVar[str] = "Unsqueeze"

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data, count = shapes[0], named_axes(shapes)
        if data is None or 1 not in values:
            return (None if data is None or count is None else (ANY,) * (len(data) + count),)
        rank = len(data) + values[1].size
        axes = distinct_axes(values[1], rank)
        if axes is None:
            return None
        kept = iter(data)
        return (tuple(1 if axis in axes else next(kept) for axis in range(rank)),)

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        return (np.expand_dims(values[0], tuple(int(axis) for axis in values[1].reshape(-1))),)


@dataclass(frozen=True)
class Identity(_Reshaping):
    """Input 0 as it is."""

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        return (shapes[0],)

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        return (values[0],)
