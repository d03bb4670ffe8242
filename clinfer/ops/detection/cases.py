"""Cases of detection, on given boxes; more of them are in tests/ops/test_detection.py."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case


def _grid() -> np.ndarray:
    """Boxes [2, 20, 4] that overlap their neighbours."""
    first = np.linspace(0, 1, 2 * 20 * 2, dtype=np.float32).reshape(2, 20, 2)
    return np.concatenate([first, first + np.float32(0.06)], -1)


def _row(op: str, opset: str, **attributes: object) -> Case:
    return Case(op, opset, (_grid(), ((2, 2, 20), "f32")), attributes, sequence=(((2, 5, 20),), ((2, 1, 20),)),
                low=0.0, high=1.0, ordered=True)


CASES = (
    _row("MatrixNms", "opset8", sort_result_type="score", score_threshold=0.2, post_threshold=0.1),
    _row("MulticlassNms", "opset9", sort_result_type="score", score_threshold=0.2, iou_threshold=0.3),
    _row("MulticlassNms", "opset8", sort_result_type="classid", score_threshold=0.2, iou_threshold=0.3, keep_top_k=7),
)
