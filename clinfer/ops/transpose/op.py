"""The Transpose primitive (OpenVINO Transpose-1)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clinfer.base.part import Part
from clinfer.base.shape import Shape
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class Transpose(Primitive):
    """Axis i of the output is axis order[i] of the input; `order` is input 1, empty: all axes reversed."""

    op_type: ClassVar[str] = "Transpose"

    @property
    def takes_fused_ops(self) -> bool:
        return True

    @property
    def only_moves(self) -> bool:
        return True

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (1,)

    @property
    def can_evaluate(self) -> bool:
        return True

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data = shapes[0]
        order = None if data is None else order_of(values, len(data))
        if data is None or order is None or sorted(order) != list(range(len(data))):
            return None
        return (tuple(data[axis] for axis in order),)

    def as_part(self, output: int, shape: Shape, values: Values) -> Part | None:
        order = order_of(values, len(shape))
        return None if order is None else Part(order)

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        return (values[0].transpose(order_of({1: values[1]}, values[0].ndim) or ()).copy(),)


def order_of(values: Values, rank: int) -> tuple[int, ...] | None:
    """The order of the axes, or None while it is unknown."""
    if 1 not in values:
        return None
    order = tuple(int(axis) for axis in values[1].reshape(-1))
    return order or tuple(reversed(range(rank)))
