"""The splitting primitives (OpenVINO Split-1, VariadicSplit-1)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clinfer.base.shape import Shape
from clinfer.base.shape_inference import OpSignature, Values
from clinfer.topology import Primitive, SourceNode


@dataclass(frozen=True)
class Split(Primitive):
    """Input 0 cut along the axis in input 1 into `num_splits` equal outputs."""

    num_splits: int = 1
    op_type: ClassVar[str] = "Split"

    @property
    def output_count(self) -> int:
        return self.num_splits

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (1,)

    @property
    def can_evaluate(self) -> bool:
        return True

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        parts = np.split(values[0], self.num_splits, int(values[1].reshape(())))
        return tuple(np.ascontiguousarray(part) for part in parts)

    def axis_of(self, values: Values, rank: int) -> int | None:
        """The axis that is cut, or None while it is unknown."""
        return int(values[1].reshape(())) % rank if 1 in values else None


@dataclass(frozen=True)
class VariadicSplit(Split):
    """Input 0 cut along the axis in input 1 into the lengths in input 2, one of which may be -1 (the rest)."""

    op_type: ClassVar[str] = "VariadicSplit"

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (1, 2)

    def signature(self) -> OpSignature | None:
        return OpSignature(self.op_type, self.opset)

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        axis, lengths = int(values[1].reshape(())), values[2].astype(np.int64).reshape(-1)
        rest = values[0].shape[axis] - lengths[lengths >= 0].sum()
        ends = np.cumsum(np.where(lengths < 0, rest, lengths))
        return tuple(np.ascontiguousarray(part) for part in np.split(values[0], ends[:-1], axis))


def convert_variadic_split(node: SourceNode) -> VariadicSplit:
    """A VariadicSplit with as many outputs as the node has."""
    return VariadicSplit(node.id, node.inputs, origin=node.name, num_splits=len(node.output_types))
