"""The primitive that a pass puts in the place of convolutions with filters of 3x3 (`transform_filters`)."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clinfer.base.schema import Positive
from clinfer.base.shape import Shape
from clinfer.ops.convolution import Convolution
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Port

FILTER = 3
"""Elements of the filter along each axis."""
POINTS = {2: (0.0, 1.0, -1.0), 4: (0.0, 0.75, -0.75, 1.5, -1.5)}
"""By the outputs of a tile along an axis: where its polynomials are evaluated, besides at infinity."""


@dataclass(frozen=True)
class WinogradConvolution(Convolution):
    """Data [B, C, Y, X] with filters of 3x3, strides and dilations of 1, by tiles of `outputs` x `outputs` pixels.

    The algorithm is Winograd's, as Lavin and Gray, "Fast algorithms for convolutional neural networks" (2016), have it:
    with T = outputs + 2, the T x T pixels that a tile reads and the filter are transformed, multiplied element by
    element, summed over the channels, and transformed to outputs. Input 1 holds the transformed filters [T * T, O, C,
    1, 1]; input 2, where present, is the bias [O].

    The points of tiles of 4 (`POINTS`) are not the usual 0, 1, -1, 2, -2: with those sums are five to ten times less
    exact.
    """

    outputs: Positive = 4
    op_type: ClassVar[str] = "WinogradConvolution"

    @property
    def channel_axes(self) -> tuple[int, ...]:
        return (1,)

    def with_factor(self, data: Port, factor: Port) -> Convolution | None:
        return None

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        data, filters = shapes[:2]
        direct = None if filters is None else (*filters[1:3], FILTER, FILTER)
        return super().infer_shapes((data, direct), values)


def transformed(filters: np.ndarray, outputs: int) -> np.ndarray:
    """Filters [O, C, 3, 3] as input 1 of the primitive has them, f32."""
    matrix = filter_matrix(POINTS[outputs])
    flat = filters.reshape(-1, FILTER * FILTER).astype(np.float32, copy=False)
    return (np.kron(matrix, matrix).astype(np.float32) @ flat.T).reshape(-1, *filters.shape[:2], 1, 1)


def filter_matrix(points: Sequence[float]) -> np.ndarray:
    """[T, 3]: the values of a polynomial with three coefficients at the points and at infinity, those at a point x over
    the product of its distances from the others, by which kernels may leave their own fractions out."""
    rows = [[x ** power / np.prod([x - other for other in points if other != x]) for power in range(FILTER)]
            for x in points]
    return np.array([*rows, [0.0] * (FILTER - 1) + [1.0]])
