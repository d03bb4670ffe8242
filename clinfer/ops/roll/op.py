"""The Roll primitive (OpenVINO Roll-7)."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.shape import Shape, show
from clinfer.ops.operation import constant_input
from clinfer.symbolic.shape_inference import Values
from clinfer.symbolic.symbols import larger
from clinfer.topology import Primitive, SourceNode


@dataclass(frozen=True)
class Roll(Primitive):
    """Input 0 moved along `axes` by as many places as input 1 says, for each of them or for all; what leaves at one end
    comes back at the other. An axis may be named several times."""

    axes: tuple[int, ...] = ()

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (1,)

    @property
    def only_moves(self) -> bool:
        return True

    @property
    def can_evaluate(self) -> bool:
        return True

    def shifts(self, data: Shape, values: Values) -> dict[int, int]:
        """The places, below its size, by which each axis named is moved; 0 while that is unknown."""
        found = dict.fromkeys([axis % len(data) for axis in self.axes], 0)
        if 1 in values:
            given = values[1].reshape(-1).tolist()
            for axis, shift in zip(self.axes, given * len(self.axes) if len(given) == 1 else given, strict=True):
                found[axis % len(data)] += shift
        return {axis: shift % larger(data[axis], 1) if shift else 0 for axis, shift in found.items()}

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        data, shift = shapes[:2]
        if data is not None and not all(-len(data) <= axis < len(data) for axis in self.axes):
            raise ClinferError("an axis to roll along does not exist", where=self.where,
                               values={"data": show(data), "axes": self.axes})
        if shift not in (None, (), (1,)) and shift[0] != len(self.axes) and isinstance(shift[0], int):
            raise ClinferError("there must be one shift, or one for each axis", where=self.where,
                               values={"shifts": show(shift), "axes": self.axes})
        return (data,)

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        rolled = values[0]
        for axis, shift in self.shifts(rolled.shape, {1: values[1]}).items():
            rolled = np.roll(rolled, shift, axis)
        return (rolled,)


def convert_roll(node: SourceNode) -> Roll:
    """The axes, input 2, are constants."""
    return Roll(node.id, node.inputs[:2], origin=node.name,
                axes=tuple(constant_input(node, 2).reshape(-1).tolist()))
