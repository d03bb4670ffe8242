"""Grids: floats that are whole numbers of 8 bits less a zero point, times a step."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clinfer.base.errors import ClinferError

MOST_LEVELS = 256
_OFF_GRID = 1e-3
"""By what part of a step 0 may be off the grid."""
_LEAST_STEP = 1e-30
"""Of steps that are as well multiplied with as divided by in f32."""


@dataclass(frozen=True)
class Grid:
    """Elements are (whole number of 0 to 255 - zero point) * step."""

    step: float
    zero_point: int

    def __post_init__(self) -> None:
        if not (_is_step(self.step) and 0 <= self.zero_point < MOST_LEVELS):
            raise ClinferError("not a grid of whole numbers of 8 bits",
                               values={"step": self.step, "zero point": self.zero_point})

    @staticmethod
    def of(low: float, high: float, levels: int) -> Grid | None:
        """The grid of so many levels from `low` to `high`; None where 0 is none of them, or there is no step."""
        step = (high - low) / max(levels - 1, 1)
        if not (1 < levels <= MOST_LEVELS and _is_step(step)):
            return None
        zero_point = round(-low / step)
        if not 0 <= zero_point < levels or abs(-low / step - zero_point) > _OFF_GRID:
            return None
        return Grid(step, zero_point)

    def numbers(self) -> np.ndarray:
        """What kernels read of it, f32 [1, 3]: 1 / step, zero point, step."""
        return np.array([[1 / self.step, self.zero_point, self.step]], np.float32)

    @cached_property
    def bits(self) -> tuple[int, ...]:
        """The same three numbers by their bits, as integers of 32 bits."""
        return tuple(self.numbers().view(np.int32)[0].tolist())

    def start(self, sums: np.ndarray) -> np.ndarray:
        """What sums of products with the bytes start with, i32, given the sums of the weights alone."""
        return (-self.zero_point * sums).astype(np.int32)

    def whole(self, values: np.ndarray) -> np.ndarray:
        """The nearest whole numbers of floats, u8; that of NaN is 0."""
        per_step, zero_point, _ = self.numbers()[0]
        return np.clip(np.rint(np.nan_to_num(np.asarray(values, np.float32) * per_step + zero_point)), 0,
                       MOST_LEVELS - 1).astype(np.uint8)

    def floats(self, whole: np.ndarray) -> np.ndarray:
        """The floats that whole numbers stand for, f32."""
        _, zero_point, step = self.numbers()[0]
        return (whole.astype(np.float32) - zero_point) * step

    def nearest(self, values: np.ndarray) -> np.ndarray:
        """The nearest floats on the grid, f32."""
        return self.floats(self.whole(values))


def _is_step(step: float) -> bool:
    return _LEAST_STEP <= step <= 1 / _LEAST_STEP


TRIAL_GRID = Grid(1 / 64, 100)
"""A grid for data of at most 1, of which the layout tells none."""
