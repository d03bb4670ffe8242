"""Cases of unique; few different values make repetitions frequent. More in tests/ops/test_unique.py."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _row(shape: tuple[int, ...], axis: int | None = None, is_sorted: bool = True, kind: str = "i32",
         index_type: str = "i64", count_type: str = "i64", sequence: _Sequence = (), high: float = 3.0) -> Case:
    inputs = ((shape, kind),) if axis is None else ((shape, kind), np.array(axis))
    return Case("Unique", "opset10", inputs,
                {"sorted": is_sorted, "index_element_type": index_type, "count_element_type": count_type},
                sequence=sequence, low=-high, high=high, id=f"Unique-{shape}{kind}-{axis}-{is_sorted}".replace(" ", ""))


CASES = (
    _row((7, 19), sequence=(((1, 1),), ((30, 9),), ((2, 5),))),
    _row((2, 3, 5, 7), is_sorted=False, index_type="i32", high=40.0),
    _row((40,), kind="f32", high=9.0),
    _row((9, 2), 0, sequence=(((1, 2),), ((50, 2),), ((33, 1),)), high=1.0),
    _row((300,), kind="u8", is_sorted=False),
    _row((2, 18, 3, 2), 1, kind="f32", high=0.5),
)
