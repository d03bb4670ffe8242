"""Cases of tile."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _row(shape: tuple[int, ...], repeats: tuple[int, ...], kind: str = "f32", sequence: _Sequence = ()) -> Case:
    return Case("Tile", "opset1", ((shape, kind), np.array(repeats, np.int64)), sequence=sequence,
                id=f"Tile-{shape}{kind}-{repeats}".replace(" ", ""))


CASES = (
    _row((2, 3, 4), (1, 2, 3), sequence=(((1, 3, 1),), ((2, 3, 20),))),
    _row((3, 40), (4, 1), "f16", sequence=(((1, 8),), ((5, 33),))),
    _row((3, 16), (2, 3), "i64"),
    _row((2, 18, 3, 4), (1, 2, 1, 1), "f16"),
    _row((2, 3, 4, 5), (2, 1, 2, 1), "i8"),
    _row((4,), (2, 1, 3), "i32"),
    _row((2, 3, 4), (2,), "u8"),
    _row((2, 1, 3, 2, 2), (1, 4, 1, 2, 1), "boolean"),
    _row((), (5,)),
    _row((5,), (1,)),
)
