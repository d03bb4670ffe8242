"""Floats of 8 bits as bytes (OCP 8-bit Floating Point Specification 1.0): E4M3, which has no infinity, and E5M2."""
from __future__ import annotations

from functools import cache

import numpy as np

_MANTISSA = {"f8e4m3": 3, "f8e5m2": 2}
_BIAS = {"f8e4m3": 7, "f8e5m2": 15}
_FIRST_BEYOND = {"f8e4m3": 0x7F, "f8e5m2": 0x7C}
"""The first byte that is no finite number: NaN, infinity."""
_NAN = 0x7F


def decode(name: str, units: np.ndarray) -> np.ndarray:
    """The values of bytes as float32."""
    return _values(name)[units]


def encode(name: str, values: np.ndarray) -> np.ndarray:
    """The bytes of float32 values, rounded to nearest even; what is too large becomes NaN or infinity."""
    given = np.ascontiguousarray(values, dtype=np.float32)
    beyond = _FIRST_BEYOND[name]
    steps = _values(name)[:beyond].astype(np.float64)
    steps = np.append(steps, 2 * steps[-1] - steps[-2])
    middles = (steps[1:] + steps[:-1]) / 2
    size = np.abs(given).astype(np.float64)
    lower, upper = np.searchsorted(middles, size, "left"), np.searchsorted(middles, size, "right")
    codes = np.where(lower % 2 == 0, lower, upper)
    codes = np.where(np.isnan(given), _NAN, np.minimum(codes, beyond))
    return (codes | np.signbit(given) * 0x80).astype(np.uint8)


@cache
def _values(name: str) -> np.ndarray:
    bits, bias = _MANTISSA[name], _BIAS[name]
    codes = np.arange(128)
    exponent, mantissa = codes >> bits, codes & ((1 << bits) - 1)
    normal = (1 + mantissa / (1 << bits)) * np.exp2(exponent - float(bias))
    half = np.where(exponent == 0, mantissa * np.exp2(1.0 - bias - bits), normal).astype(np.float32)
    half[_FIRST_BEYOND[name]:] = np.nan
    if name == "f8e5m2":
        half[_FIRST_BEYOND[name]] = np.inf
    values = np.concatenate([half, -half])
    values.setflags(write=False)
    return values
