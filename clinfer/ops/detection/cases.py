"""Test rows of the detection room; boxes as they come from networks are in tests/rooms/test_detection.py."""
from __future__ import annotations

from clinfer.ops.room import Case

_SEQUENCE = (((1, 3, 4), (1, 2, 3)), ((2, 40, 4), (2, 2, 40)))


def _row(op: str, opset: str, **attributes: object) -> Case:
    return Case(op, opset, (((2, 20, 4), "f32"), ((2, 2, 20), "f32")), attributes, sequence=_SEQUENCE, low=0.0,
                high=1.0, ordered=True)


CASES = (
    _row("MatrixNms", "opset8", sort_result_type="score", score_threshold=0.2, post_threshold=0.1),
    _row("MulticlassNms", "opset9", sort_result_type="score", score_threshold=0.2, iou_threshold=0.3),
    _row("MulticlassNms", "opset8", sort_result_type="classid", score_threshold=0.2, iou_threshold=0.3, keep_top_k=7),
)
