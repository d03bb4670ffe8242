"""Cases of embedding_bag."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.ops.operation import Case

_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _row(op: str, opset: int, *inputs: Any, sequence: _Sequence = (), label: str = "", **attributes: str) -> Case:
    return Case(op, f"opset{opset}", inputs, attributes, sequence=sequence, low=0, high=8,
                id=f"{op}-{opset}{label and '-' + label}")


def _ints(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


CASES = (
    _row("EmbeddingBagOffsetsSum", 3, ((9, 4), "f32"), ((8,), "i32"), _ints(0, 2, 2, 5),
         sequence=(((20, 4), (7,)), ((9, 4), (30,)))),
    _row("EmbeddingBagOffsetsSum", 3, ((9, 2, 3), "f16"), ((6,), "i32"), _ints(0, 2, 2), np.int32(1),
         np.linspace(-1, 1, 6).astype(np.float16), label="factors"),
    _row("EmbeddingBagOffsets", 15, ((9, 4), "f32"), ((6,), "i64"), np.array([0, 2, 2]), np.int64(1), reduction="mean"),
    _row("EmbeddingBagPackedSum", 3, ((9, 4), "f32"), ((3, 2), "i64"), ((3, 2), "f32")),
    _row("EmbeddingBagPacked", 15, ((9, 4), "f32"), ((3, 2), "i32"), reduction="mean",
         sequence=(((9, 4), (1, 5)), ((20, 4), (40, 3)))),
    _row("EmbeddingSegmentsSum", 3, ((9, 4), "f32"), ((6,), "i32"), _ints(0, 0, 1, 3, 3, 3), np.int32(5), np.int32(2)),
    _row("EmbeddingSegmentsSum", 3, ((9, 3), "f32"), ((6,), "i32"), _ints(0, 0, 1, 3, 3, 3), np.int32(4), np.int32(0),
         np.linspace(-1, 1, 6).astype(np.float32), label="factors"),
)
