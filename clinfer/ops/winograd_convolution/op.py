"""The primitive that a pass puts in the place of convolutions with small filters (`transform_filters`)."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import ClassVar

import numpy as np

from clinfer.base.schema import Positive
from clinfer.base.shape import Shape
from clinfer.ops.convolution import Convolution
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Port

POINTS: dict[int, tuple[float, ...]] = {
    4: (0.0, 1.0, -1.0), 6: (0.0, 0.75, -0.75, 1.5, -1.5), 8: (0.0, 0.5, -0.5, 1.125, -1.125, 2.0, -2.0)}
"""By the elements of a transformed tile along an axis: where its polynomials are evaluated, besides at infinity."""
_LONGEST_OF_TWO, _MOST_OUTPUTS = 6, 5
"""Elements of a tile along each of two axes, at most: more do not fit a CPU's registers; and outputs along an axis: the
sums of more are three to five times less exact than those one by one."""


@dataclass(frozen=True)
class WinogradConvolution(Convolution):
    """Data [B, C, Y, X] or [B, C, X] with filters of `window`, strides and dilations of 1, by tiles of `outputs`. The
    filter has more than one element along one axis, or as many along both.

    The algorithm is Winograd's, as Lavin and Gray, "Fast algorithms for convolutional neural networks" (2016), have it:
    with T = outputs + window - 1 along an axis, the T x T pixels that a tile reads and the filter are transformed,
    multiplied element by element, summed over the channels, and transformed to outputs. Along an axis along which the
    filter has one element, a tile has one pixel and nothing is transformed. Input 1 holds the transformed filters,
    [elements of a tile, O, C] and an axis of one element for each spatial one; input 2, where present, is the bias [O].

    The points of tiles (`POINTS`) are not the usual 0, 1, -1, 2, -2, 1/2, -1/2: with those sums of tiles of two axes
    are five to ten times less exact.
    """

    window: tuple[Positive, ...] = (3, 3)
    outputs: tuple[Positive, ...] = (4, 4)
    op_type: ClassVar[str] = "WinogradConvolution"

    @property
    def channel_axes(self) -> tuple[int, ...]:
        return (1,)

    @property
    def sides(self) -> tuple[int, ...]:
        """The elements of a transformed tile along each axis."""
        return sides_of(self.window, self.outputs)

    @property
    def side(self) -> int:
        """Those along the axes that are transformed."""
        return max(self.sides)

    def with_factor(self, data: Port, factor: Port) -> Convolution | None:
        return None

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        data, filters = shapes[:2]
        direct = None if filters is None else (*filters[1:3], *self.window)
        return super().infer_shapes((data, direct), values)


def sides_of(window: Sequence[int], outputs: Sequence[int]) -> tuple[int, ...]:
    """The elements of a transformed tile along each axis."""
    return tuple(size + count - 1 for size, count in zip(window, outputs, strict=True))


def tiles_of(window: Sequence[int]) -> list[tuple[int, ...]]:
    """The outputs of all tiles for filters of such a window; none for those that are not transformed."""
    sizes = {size for size in window if size > 1}
    if len(window) > 2 or len(sizes) != 1:
        return []
    size, longest = max(sizes), max(POINTS) if sum(size > 1 for size in window) == 1 else _LONGEST_OF_TWO
    counts = [side - size + 1 for side in POINTS if side <= longest and 2 <= side - size + 1 <= _MOST_OUTPUTS]
    return [tuple(count if size > 1 else 1 for size in window) for count in counts]


def transformed(filters: np.ndarray, outputs: Sequence[int]) -> np.ndarray:
    """Filters [O, C, window...] as input 1 of the primitive has them, f32."""
    window = filters.shape[2:]
    matrices = [filter_matrix(POINTS.get(side, ()), size)
                for side, size in zip(sides_of(window, outputs), window, strict=True)]
    flat = filters.reshape(-1, prod(window)).astype(np.float32, copy=False)
    made = reduce(np.kron, matrices).astype(np.float32) @ flat.T
    return made.reshape(-1, *filters.shape[:2], *(1 for _ in window))


def filter_matrix(points: Sequence[float], size: int) -> np.ndarray:
    """[T, size]: the values of a polynomial with so many coefficients at the points and at infinity, those at a point x
    over the product of its distances from the others, by which kernels may leave their own fractions out."""
    rows = [[x ** power / np.prod([x - other for other in points if other != x]) for power in range(size)]
            for x in points]
    return np.array([*rows, [0.0] * (size - 1) + [1.0]])


def data_matrix(points: Sequence[float]) -> np.ndarray:
    """[T, T]: for each point the coefficients of the polynomial that is zero at the others, then those of the one that
    is zero at all."""
    rows = [[*np.poly([other for other in points if other != x])[::-1], 0.0] for x in points]
    return np.array([*rows, np.poly(points)[::-1]])


def result_matrix(points: Sequence[float], outputs: int) -> np.ndarray:
    """[outputs, T]: the powers of the points, and at infinity that of the last output."""
    return np.array([[*(x ** power for x in points), float(power == outputs - 1)] for power in range(outputs)])
