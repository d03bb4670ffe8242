"""Cases of non_max_suppression."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _row(batches: int, classes: int, boxes: int, most: int, overlap: float = 0.3, lowest: float = 0.1,
         sigma: float = 0.0, encoding: str = "corner", is_sorted: bool = True, opset: str = "opset9",
         kind: str = "f32", output_type: str = "i64", sequence: _Sequence = ()) -> Case:
    numbers = (np.array(most), *(np.array(x, np.float32) for x in (overlap, lowest, sigma)))
    return Case("NonMaxSuppression", opset, (((batches, boxes, 4), kind), ((batches, classes, boxes), kind), *numbers),
                {"box_encoding": encoding, "sort_result_descending": is_sorted, "output_type": output_type},
                sequence=sequence, low=0.0, high=1.0, ordered=True,
                id=f"NonMaxSuppression-{opset}-{batches}x{classes}x{boxes}{kind}-{most}-{overlap}-{lowest}-{sigma}-"
                   f"{encoding}-{is_sorted}")


CASES = (
    _row(2, 3, 40, 10, sequence=(((1, 7, 4), (1, 3, 7)), ((2, 90, 4), (2, 5, 90)))),
    _row(1, 2, 300, 50, is_sorted=False, opset="opset5", output_type="i32"),
    _row(2, 2, 60, 9, sigma=0.5, overlap=1.0),
    _row(1, 3, 60, 100, sigma=0.2, overlap=0.6, is_sorted=False),
    _row(1, 4, 50, 20, encoding="center"),
    _row(2, 2, 30, 5, lowest=2.0),
    Case("NonMaxSuppression", "opset9", (((1, 20, 4), "f32"), ((1, 2, 20), "f32"), ((1,), "i64")),
         {"box_encoding": "corner", "sort_result_descending": True, "output_type": "i64"}, ordered=True,
         low=0.0, high=1.0, sequence=(((1, 3, 4), (1, 2, 3), (1,)),), id="NonMaxSuppression-number-from-input"),
)
