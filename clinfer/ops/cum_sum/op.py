"""The CumSum primitive (OpenVINO CumSum-3)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clinfer.base.shape import Shape
from clinfer.ops.shared.reduction import check_given_axes
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class CumSum(Primitive):
    """Sums of input 0 up to each element along the axis in input 1 (missing: 0).

    `exclusive` leaves the element itself out; `reverse` sums from the end.
    """

    exclusive: bool = False
    reverse: bool = False
    op_type: ClassVar[str] = "CumSum"
    opset: ClassVar[str] = "opset3"

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return tuple(range(1, len(self.inputs)))

    @property
    def can_evaluate(self) -> bool:
        return True

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data = shapes[0]
        check_given_axes(self, data, values)
        return None if data is None else (data,)

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        data = values[0]
        axis = self.axis_of(dict(enumerate(values)), data.ndim)
        assert axis is not None
        terms = np.moveaxis(np.flip(data, axis) if self.reverse else data, axis, 0)
        if self.exclusive:
            terms = np.concatenate([np.zeros_like(terms[:1]), terms[:-1]])
        sums = np.moveaxis(np.cumsum(terms, 0, dtype=data.dtype), 0, axis)
        return (np.ascontiguousarray(np.flip(sums, axis) if self.reverse else sums),)

    def axis_of(self, values: Values, rank: int) -> int | None:
        """The axis, counted from the front, or None while it is unknown."""
        if len(self.inputs) < 2:
            return 0
        return int(values[1].reshape(())) % rank if 1 in values else None
