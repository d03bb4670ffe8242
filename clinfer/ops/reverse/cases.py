"""Cases of reverse."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.ops.operation import Case

_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _row(shape: tuple[int, ...], axes: Any, mode: str = "index", kind: str = "f32",
         sequence: _Sequence = ()) -> Case:
    return Case("Reverse", "opset1", ((shape, kind), axes), {"mode": mode}, sequence=sequence,
                id=f"Reverse-{shape}{kind}-{mode}-{getattr(axes, 'tolist', lambda: axes)()}".replace(" ", ""))


CASES = (
    _row((3, 4, 20), np.array([0]), sequence=(((1, 9, 32),), ((7, 2, 5),), ((3, 0, 5),))),
    _row((2, 3, 70), np.array([2, 0]), sequence=(((2, 1, 7),), ((5, 3, 1),))),
    _row((2, 16, 5, 3), np.array([2]), kind="f16"),
    _row((2, 16, 5, 3), np.array([1]), kind="i64"),
    _row((2, 3, 4, 6), np.array([True, False, True, True]), "mask", "u8"),
    _row((2, 3, 2, 3, 20), np.array([1]), kind="boolean"),
    _row((9,), np.array([0], np.int32), kind="i32"),
    _row((3, 300), np.array([1]), sequence=(((2, 9),), ((1, 40),))),
    _row((4, 5), np.array([], np.int64)),
)
