"""The LRN primitive (OpenVINO LRN-1)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.schema import Positive
from clinfer.base.shape import Shape
from clinfer.ops.shared.reduction import check_given_axes
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class LRN(Primitive):
    """Input 0 / (bias + alpha * mean)^beta, with the mean of the squares around an element along the axes in input 1.

    The window reaches (size - 1) / 2 elements, rounded down, to either side along each axis; the sum of its
    squares is divided by size^axes, also where it is cut at a border or `size` is even.
    """

    alpha: float = 1e-4
    beta: float = 0.75
    bias: float = 1.0
    size: Positive = 1
    op_type: ClassVar[str] = "LRN"

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (1,)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        check_given_axes(self, shapes[0], values)
        return (shapes[0],)
