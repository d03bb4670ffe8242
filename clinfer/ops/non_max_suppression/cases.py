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


def _rotated(low: float, high: float, clockwise: bool = True, is_sorted: bool = True, overlap: float = 0.2,
             output_type: str = "i64", sequence: _Sequence = ()) -> Case:
    numbers = (np.array(12), np.array(overlap, np.float32), np.array(0.1, np.float32))
    return Case("NMSRotated", "opset13", (((2, 30, 5), "f32"), ((2, 2, 30), "f32"), *numbers),
                {"sort_result_descending": is_sorted, "output_type": output_type, "clockwise": clockwise},
                sequence=sequence, low=low, high=high, ordered=True,
                id=f"NMSRotated-{low}-{high}-{clockwise}-{is_sorted}")


CASES = (
    _row(2, 3, 40, 10, sequence=(((1, 7, 4), (1, 3, 7)), ((2, 90, 4), (2, 5, 90)))),
    _row(1, 2, 300, 50, is_sorted=False, opset="opset5", output_type="i32"),
    _row(2, 2, 60, 9, sigma=0.5, overlap=1.0),
    _row(1, 3, 60, 100, sigma=0.2, overlap=0.6, is_sorted=False),
    _row(1, 4, 50, 20, encoding="center"),
    _row(2, 2, 30, 5, lowest=2.0),
    _row(2, 2, 90, 90, overlap=0.7, lowest=-1.0, sequence=(((1, 200, 4), (1, 1, 200)), ((3, 9, 4), (3, 2, 9)))),
    Case("NonMaxSuppression", "opset9", (((1, 20, 4), "f32"), ((1, 2, 20), "f32"), ((1,), "i64")),
         {"box_encoding": "corner", "sort_result_descending": True, "output_type": "i64"}, ordered=True,
         low=0.0, high=1.0, sequence=(((1, 3, 4), (1, 2, 3), (1,)),), id="NonMaxSuppression-number-from-input"),
    _rotated(0.1, 3.0, sequence=(((1, 7, 5), (1, 3, 7)), ((1, 40, 5), (1, 1, 40)))),
    _rotated(0.5, 5.0, clockwise=False, overlap=0.05),
    _rotated(0.1, 1.0, is_sorted=False, output_type="i32"),
)
