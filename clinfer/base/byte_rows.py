"""Rows of floats as bytes: each row is rounded to 256 levels between its least and its greatest element.

Behind the bytes of a row stand, as f32, the step from one level to the next and the least element:
x = byte * step + least.
"""
from __future__ import annotations

import numpy as np

TAIL = 8
"""Bytes behind those of a row."""
LEVELS = 255
"""Steps from the least element of a row to the greatest."""
_LEAST_STEP = np.finfo(np.float32).tiny


def encode_rows(values: np.ndarray) -> np.ndarray:
    """Floats [..., E] as u8 [..., E + TAIL]."""
    values = values.astype(np.float32)
    least = values.min(-1, keepdims=True, initial=np.inf)
    step = (values.max(-1, keepdims=True, initial=-np.inf) - least) / np.float32(LEVELS)
    levels = np.rint((values - least) / np.maximum(step, _LEAST_STEP))
    tail = np.concatenate([step, least], -1).view(np.uint8)
    return np.concatenate([np.clip(levels, 0, LEVELS).astype(np.uint8), tail], -1)


def decode_rows(rows: np.ndarray) -> np.ndarray:
    """The reverse, as f32."""
    step, least = np.split(np.ascontiguousarray(rows[..., -TAIL:]).view(np.float32), 2, -1)
    return rows[..., :-TAIL].astype(np.float32) * step + least
