"""Cases of roll."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _row(shape: tuple[int, ...], shift: tuple[int, ...], axes: tuple[int, ...], kind: str = "f32",
         sequence: _Sequence = ()) -> Case:
    given = np.array(shift, np.int64), np.array(axes, np.int64)
    return Case("Roll", "opset7", ((shape, kind), *given), sequence=sequence,
                id=f"Roll-{shape}{kind}{shift}{axes}".replace(" ", ""))


CASES = (
    _row((1, 8, 8, 6), (-3, -3), (1, 2), sequence=(((2, 5, 3, 6),), ((1, 1, 7, 6),))),
    _row((1, 8, 8, 6), (3, 3), (1, 2), "f16"),
    _row((5, 7), (12,), (-1,), sequence=(((1, 3),), ((2, 12),))),
    _row((5, 7), (0,), (0,), "i32"),
    _row((4, 3), (1, 2, -4), (0, 1, 0), "i64"),
    _row((2, 3, 5, 7, 3), (4, -1), (1, -3), "f16",
         sequence=(((1, 2, 9, 8, 37),), ((3, 0, 2, 1, 5),), ((2, 3, 5, 1, 600),))),
    _row((3, 5, 2, 70), (1,), (1,), "u8"),
    Case("Roll", "opset7", (((6,), "u8"), np.array(-2, np.int32), np.array(0, np.int32)), id="Roll-scalars"),
    Case("Roll", "opset7", (((3, 4), "f32"), ((2,), "i64"), np.array([1, 0], np.int64)), low=-5, high=5,
         id="Roll-shift-from-input"),
)
