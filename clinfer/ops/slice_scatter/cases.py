"""Cases of slice_scatter."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

_Ints = tuple[int, ...]


def _row(data: _Ints, updates: _Ints, start: _Ints, stop: _Ints, step: _Ints, axes: _Ints | None, kind: str = "f32",
         sequence: tuple[tuple[_Ints, ...], ...] = ()) -> Case:
    given = tuple(np.array(value, np.int64) for value in (start, stop, step, axes) if value is not None)
    return Case("SliceScatter", "opset15", ((data, kind), (updates, kind), *given), sequence=sequence,
                id=f"SliceScatter-{data}{kind}{start}{stop}{step}{axes}".replace(" ", ""))


CASES = (
    _row((5, 6), (2, 6), (1,), (5,), (2,), (0,), sequence=(((5, 3), (2, 3)), ((9, 40), (2, 40)), ((5, 0), (2, 0)))),
    _row((3, 2, 20), (3, 1, 16), (0, 2), (1, -2), (1, 1), (1, -1), "f16"),
    _row((4, 5), (2, 3), (-1, 4), (1, -100), (-1, -2), None, "i64"),
    _row((7,), (3,), (2,), (5,), (1,), (0,), "u8"),
    _row((3, 40), (3, 20), (1,), (40,), (2,), (1,), sequence=(((2, 40), (2, 20)), ((9, 40), (9, 20)))),
)
