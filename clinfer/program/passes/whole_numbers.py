"""Finds the whole numbers behind weights of floats."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

_OFF = 1e-3
"""How far weights divided by their scale may be from whole numbers."""
_SAMPLE = 64
_LIMITS = (127, 128, *range(126, 0, -1))
"""The largest absolute value of a row's whole numbers: what is likely first."""


class WholeNumbers(NamedTuple):
    """`numbers`, i8, times the `scale` f32 of each row are the weights."""

    numbers: np.ndarray
    scale: np.ndarray


def whole_numbers_of(weights: np.ndarray) -> WholeNumbers | None:
    """The whole numbers, of -128 to 127, of which each row of weights [rows, columns] is a multiple; None where a row
    is none, or has other values than finite ones."""
    most = np.abs(weights).max(1, initial=0).astype(np.float64)
    if not np.isfinite(most).all():
        return None
    scale = np.ones(len(weights))
    left = np.flatnonzero(most)
    for limit in _LIMITS:
        if not left.size:
            break
        found = left[_are_whole(weights[left, :_SAMPLE], most[left] / limit)]
        found = found[_are_whole(weights[found], most[found] / limit)]
        scale[found] = most[found] / limit
        left = np.setdiff1d(left, found, assume_unique=True)
    if left.size:
        return None
    return WholeNumbers(np.rint(weights / scale[:, None]).astype(np.int8), scale.astype(np.float32))


def _are_whole(rows: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Of each row, whether all elements divided by its scale are whole numbers that i8 holds."""
    numbers = rows / scale[:, None]
    nearest = np.rint(numbers)
    return ((np.abs(numbers - nearest) < _OFF) & (nearest < 128)).all(1)
