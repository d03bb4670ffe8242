"""Rows of operations of OpenVINO's opsets beside those of `clinfer/ops/`: their other versions."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case


def _row(op: str, opset: int, *inputs: object, **attributes: object) -> Case:
    return Case(op, f"opset{opset}", inputs, attributes, id=f"{op}-{opset}", ordered=True)


def _f32(*shape: int) -> tuple[tuple[int, ...], str]:
    return shape, "f32"


def _boxes(count: int, size: float) -> np.ndarray:
    """Boxes x1, y1, x2, y2 on a picture of that size."""
    corners = np.linspace(0, size / 2, count * 2, dtype=np.float32).reshape(count, 2)
    return np.concatenate([corners, corners + np.float32(size / 3)], 1)


VERSION_ROWS = (
    *(_row(op, 10, _f32(2, 5)) for op in ("IsFinite", "IsInf", "IsNaN")),
    _row("FakeQuantize", 13, _f32(2, 5), *map(np.float32, (-1, 1, -1, 1)), levels=16),
    _row("Gelu", 2, _f32(2, 5)),
    _row("LSTMCell", 1, _f32(2, 3), _f32(2, 4), _f32(2, 4), _f32(16, 3), _f32(16, 4), _f32(16), hidden_size=4),
    *(_row("NonMaxSuppression", opset, _boxes(9, 20.0)[None], _f32(1, 2, 9), np.int64(5), np.float32(0.4),
           np.float32(0.1), box_encoding="corner") for opset in (1, 3, 4)),
    _row("RNNCell", 3, _f32(2, 3), _f32(2, 4), _f32(4, 3), _f32(4, 4), _f32(4), hidden_size=4),
    _row("ScatterElementsUpdate", 3, _f32(3, 4), np.zeros((1, 4), np.int64), _f32(1, 4), np.int64(0)),
    _row("Softmax", 1, _f32(3, 4, 2), axis=1),
    _row("Xor", 1, ((3, 4), "boolean"), ((4,), "boolean")),
)
