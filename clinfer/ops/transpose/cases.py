"""Cases of transpose."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case


def _row(shape: tuple[int, ...], order: tuple[int, ...], kind: str = "f32",
         sequence: tuple[tuple[tuple[int, ...], ...], ...] = ()) -> Case:
    return Case("Transpose", "opset1", ((shape, kind), np.array(order, np.int64)), sequence=sequence)


CASES = (
    _row((2, 3, 4, 5), (0, 2, 3, 1), sequence=(((1, 3, 17, 33),), ((2, 3, 1, 40),))),
    _row((1, 6, 7, 40), (0, 3, 1, 2), "f16"),
    _row((2, 35, 3, 24), (0, 2, 1, 3), sequence=(((2, 5, 3, 7),), ((1, 16, 2, 64),))),
    _row((2, 33, 3, 17), (0, 2, 3, 1), "f16"),
    _row((2, 3, 70), (2, 0, 1), "i64"),
    _row((37, 50), (1, 0), "i8", sequence=(((16, 16),), ((1, 9),), ((0, 4),))),
    _row((4, 5), (1, 0), "boolean"),
    _row((3, 4, 2, 5, 2), (4, 2, 0, 3, 1), "i32"),
    _row((2, 3, 2, 3, 2, 3), (5, 4, 3, 2, 1, 0)),
    _row((2, 3, 4, 3, 2), (1, 0, 2, 3, 4)),
    _row((2, 9, 3, 4, 20), (2, 0, 3, 1, 4), "f16", sequence=(((1, 49, 3, 3, 32),), ((3, 2, 3, 1, 7),))),
    _row((2, 3, 2, 2, 5, 20), (0, 1, 4, 2, 5, 3), sequence=(((1, 4, 2, 2, 9, 300),), ((2, 1, 2, 2, 3, 5),))),
    _row((3, 2, 2, 17, 18), (0, 3, 1, 4, 2), "i8"),
    _row((2, 3, 4), (), "u8"),
    _row((5,), (0,)),
    _row((), ()),
    _row((2, 18, 20, 3), (0, 3, 2, 1)),
    _row((3, 20, 17), (0, 2, 1), "f64"),
    _row((3, 20, 17), (1, 0, 2), "bf16"),
)
