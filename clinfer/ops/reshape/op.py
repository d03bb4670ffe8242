"""The reshaping primitives (OpenVINO Reshape-1, Squeeze-1 and -15, Unsqueeze-1, Identity-16)."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.part import Part
from clinfer.base.shape import ANY, Shape, StaticShape, show
from clinfer.base.shape_inference import OpSignature, Values
from clinfer.ops.shared.open_ranks import named_axes, without_axes
from clinfer.ops.shared.static_shapes import distinct_axes
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

    def static_shapes(self, shapes: tuple[StaticShape, ...], values: Values) -> tuple[StaticShape, ...] | None:
        shape = self._shape(shapes[0], values[1].reshape(-1).tolist())
        return None if shape is None else (shape,)

    def _shape(self, data: StaticShape, pattern: Sequence[int]) -> StaticShape | None:
        """The new shape, or None where there is none.

        What remains for -1 is told by the sizes that are not copied; it is 1 where neither these nor the others of the
        new shape have any elements, as with OpenVINO.
        """
        copied = {i for i, size in enumerate(pattern) if size == 0 and self.special_zero and i < len(data)}
        sizes = [data[i] if i in copied else size for i, size in enumerate(pattern)]
        left = [i for i, size in enumerate(sizes) if size < 0]
        if not left:
            return tuple(sizes) if prod(sizes) == prod(data) else None
        others = prod(size for i, size in enumerate(sizes) if i not in copied and i not in left)
        total = prod(size for i, size in enumerate(data) if i not in copied)
        if len(left) > 1 or sizes[left[0]] != -1 or (total % others if others else total):
            return None
        sizes[left[0]] = total // others if others else 1
        return tuple(sizes)

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
        shape = self._shape(values[0].shape, values[1].reshape(-1).tolist())
        if shape is None:
            raise ClinferError("the elements do not fit into the new shape", where=self.where,
                               values={"data": show(values[0].shape), "new shape": values[1].reshape(-1).tolist()})
        return (values[0].reshape(shape),)


@dataclass(frozen=True)
class Squeeze(_Reshaping):
    """Without the axes that input 1 names, which must have size 1; where it names none, without all of size 1.

    `allow_axis_skip` leaves named axes of other sizes in place.
    """

    allow_axis_skip: bool = False
    op_type: ClassVar[str] = "Squeeze"
    opset: ClassVar[str] = "opset15"

    def open_shapes(self, shapes: tuple[Shape | None, ...]) -> tuple[Shape | None, ...]:
        """One axis less for each that is named, if each is named once and none may stay in place."""
        return (None,) if self.allow_axis_skip else (without_axes(shapes),)

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

    def static_shapes(self, shapes: tuple[StaticShape, ...], values: Values) -> tuple[StaticShape, ...] | None:
        data = shapes[0]
        axes = distinct_axes(values[1], len(data)) if 1 in values else None
        if not axes or any(data[axis] != 1 for axis in axes):
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

    def open_shapes(self, shapes: tuple[Shape | None, ...]) -> tuple[Shape | None, ...]:
        """One axis more for each that is named."""
        data, count = shapes[0], named_axes(shapes)
        return (None,) if data is None or count is None else ((ANY,) * (len(data) + count),)

    def static_shapes(self, shapes: tuple[StaticShape, ...], values: Values) -> tuple[StaticShape, ...] | None:
        rank = len(shapes[0]) + values[1].size
        axes = distinct_axes(values[1], rank)
        if axes is None:
            return None
        kept = iter(shapes[0])
        return (tuple(1 if axis in axes else next(kept) for axis in range(rank)),)

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        return (np.expand_dims(values[0], tuple(int(axis) for axis in values[1].reshape(-1))),)


@dataclass(frozen=True)
class Identity(_Reshaping):
    """Input 0 as it is."""

    def signature(self) -> OpSignature | None:
        return None

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        return (shapes[0],)

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        return (values[0],)
