"""The splitting primitives (OpenVINO Split-1, VariadicSplit-1)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.part import Part
from clinfer.base.schema import Positive
from clinfer.base.shape import Shape, Size, StaticShape, show
from clinfer.ops.shared.shape_rules import distinct_axes
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive, SourceNode


@dataclass(frozen=True)
class Split(Primitive):
    """Input 0 cut along the axis in input 1 into `num_splits` equal outputs."""

    num_splits: Positive = 1
    op_type: ClassVar[str] = "Split"

    @property
    def output_count(self) -> int:
        return self.num_splits

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (1,)

    @property
    def picked_inputs(self) -> tuple[int, ...]:
        return (0,)

    @property
    def can_evaluate(self) -> bool:
        return True

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data = shapes[0]
        axes = distinct_axes(values[1], len(data)) if data is not None and 1 in values else None
        if data is None or not axes:
            return None
        size = data[axes[0]]
        if isinstance(size, int) and size % self.num_splits != 0:
            return None
        return _cut(data, axes[0], (size // self.num_splits,) * self.num_splits)

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        parts = np.split(values[0], self.num_splits, int(values[1].reshape(())))
        return tuple(np.ascontiguousarray(part) for part in parts)

    def as_part(self, output: int, shape: Shape, values: Values) -> Part | None:
        axis = self.axis_of(values, len(shape)) if all(i in values for i in self.value_inputs) else None
        size = None if axis is None else shape[axis]
        if axis is None or not isinstance(size, int):
            return None
        cut = self.infer_shapes(tuple((size,) if i == 0 else () for i in range(len(self.inputs))),
                                 {**values, 1: np.zeros((), np.int64)})
        if cut is None:
            return None
        lengths: list[int] = [shape[0] for shape in cut]  # type: ignore[index, misc]
        start = sum(lengths[:output])
        return Part.whole(len(shape)).cut(axis, start, start + lengths[output])

    def axis_of(self, values: Values, rank: int) -> int | None:
        """The axis that is cut, or None while it is unknown."""
        return int(values[1].reshape(())) % rank if 1 in values else None


@dataclass(frozen=True)
class VariadicSplit(Split):
    """Input 0 cut along the axis in input 1 into the lengths in input 2, one of which may be -1 (the rest)."""

    op_type: ClassVar[str] = "VariadicSplit"
    own_fields: ClassVar[tuple[str, ...]] = ("num_splits",)

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (1, 2)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data = shapes[0]
        axes = distinct_axes(values[1], len(data)) if data is not None and 1 in values else None
        lengths = values[2].reshape(-1).tolist() if 2 in values else ()
        if data is None or not axes or len(lengths) != self.num_splits:
            return None
        left = [i for i, length in enumerate(lengths) if length < 0]
        rest = data[axes[0]] - sum(length for i, length in enumerate(lengths) if i not in left)
        if len(left) > 1 or any(lengths[i] != -1 for i in left):
            return None
        if isinstance(rest, int) and (rest < 0 or (not left and rest != 0)):
            return None
        return _cut(data, axes[0], tuple(rest if i in left else length for i, length in enumerate(lengths)))

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        """OpenVINO's rule takes parts that are longer than the whole where the last one is -1."""
        if self.infer_shapes(shapes, values) is None:
            raise ClinferError("the lengths do not add up to the size of the axis", where=self.where, values={
                "data": show(shapes[0]), "axis": values[1], "lengths": values[2]})

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        self.check_inputs((values[0].shape,), dict(enumerate(values)), ())
        axis, lengths = int(values[1].reshape(())), values[2].astype(np.int64).reshape(-1)
        rest = values[0].shape[axis] - lengths[lengths >= 0].sum()
        ends = np.cumsum(np.where(lengths < 0, rest, lengths))
        return tuple(np.ascontiguousarray(part) for part in np.split(values[0], ends[:-1], axis))


def _cut(data: Shape, axis: int, lengths: tuple[Size, ...]) -> tuple[Shape, ...]:
    return tuple((*data[:axis], length, *data[axis + 1:]) for length in lengths)


def convert_variadic_split(node: SourceNode) -> VariadicSplit:
    """A VariadicSplit with as many outputs as the node has."""
    return VariadicSplit(node.id, node.inputs, origin=node.name, num_splits=len(node.output_types))
