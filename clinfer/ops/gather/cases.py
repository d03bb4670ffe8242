"""Cases of gather; small index ranges mix negative, valid and outlying indices."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.ops.operation import Case

_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _gather(data: tuple[int, ...], indices: Any, axis: int, kind: str = "f32", batch_dims: int = 0,
            opset: str = "opset8", sequence: _Sequence = (), high: float = 2.0) -> Case:
    attributes = {} if opset == "opset1" else {"batch_dims": batch_dims}
    given = indices[0] if isinstance(indices, tuple) else indices.shape
    name = f"Gather-{opset}-{data}{kind}-{given}-{axis}-{batch_dims}".replace(" ", "")
    return Case("Gather", opset, ((data, kind), indices, np.array(axis, np.int64)), attributes, sequence=sequence,
                high=high, id=name)


def _elements(data: tuple[int, ...], indices: tuple[int, ...], axis: int, kind: str = "f32",
              index_kind: str = "i64", sequence: _Sequence = ()) -> Case:
    return Case("GatherElements", "opset6", ((data, kind), (indices, index_kind)), {"axis": axis},
                sequence=sequence, low=-2.0 if kind == "f32" else 0.0, high=1.0)


def _nd(data: tuple[int, ...], indices: tuple[int, ...], batch_dims: int = 0, kind: str = "f32",
        opset: str = "opset8", index_kind: str = "i64", sequence: _Sequence = ()) -> Case:
    name = f"GatherND-{opset}-{data}{kind}-{indices}{index_kind}-{batch_dims}".replace(" ", "")
    return Case("GatherND", opset, ((data, kind), (indices, index_kind)), {"batch_dims": batch_dims},
                sequence=sequence, low=-1.0, high=1.0, id=name)


CASES = (
    _gather((5, 4), ((3,), "i64"), 0, sequence=(((5, 9), (1,)), ((2, 40), (6,)))),
    _gather((2, 3, 20), ((2, 2), "i32"), 1, sequence=(((2, 1, 20), (1, 2)), ((7, 3, 33), (3, 4)))),
    _gather((60, 72), np.array([[0, 59, -1, 7, 60, -61]], np.int64), 0),
    _gather((60, 72), np.array([[0, 59, -1, 7, 60]], np.int32), 0, "f16", opset="opset7"),
    _gather((2, 18, 5, 6), np.array([3, 17, -18, 0], np.int64), 1, "f16"),
    _gather((2, 18, 3, 16), ((), "i64"), -2),
    _gather((2, 3, 4), ((2, 3, 2), "i64"), 2, batch_dims=2),
    _gather((2, 3, 4, 12), ((2, 5), "i32"), 2, batch_dims=1, sequence=(((1, 3, 2, 12), (1, 1)),)),
    _gather((2, 6, 5), ((2, 3), "i64"), 1, "i64", batch_dims=-1),
    _gather((2, 3, 4), ((2, 1), "i64"), 0, "i8", opset="opset1"),
    _gather((9,), ((), "i32"), 0, "u8", high=5.0),
    _gather((4, 2, 3, 2, 3), ((2,), "u8"), -1, "boolean"),
    _gather((3, 4), ((2,), "i64"), 0, sequence=(((3, 4), (0,)), ((3, 0), (5,)))),
    _gather((6,), ((2, 1, 2, 2), "i64"), 0, "i32"),
    _elements((3, 4), (3, 4), 1, sequence=(((5, 2), (5, 6)), ((2, 9), (2, 1)))),
    _elements((4, 5, 6), (2, 5, 6), 0, "f16", "i32"),
    _elements((2, 3, 2, 4), (2, 3, 5, 4), -2, "i8"),
    _elements((7,), (9,), 0, "i64", "i32"),
    _nd((3, 4), (2, 2)),
    _nd((3, 4, 20), (2, 5, 1), sequence=(((2, 4, 9), (1, 5, 1)), ((3, 1, 16), (2, 5, 1)))),
    _nd((2, 3, 4, 5), (2, 3, 2), 1, "f16", index_kind="i32"),
    _nd((2, 3, 4), (2, 3, 1), 2, "i64"),
    _nd((2, 3, 4, 8), (2, 3, 2, 1), 2, opset="opset5"),
    _nd((2, 3, 4), (3,), 0, "u8", opset="opset5"),
    _nd((2, 3, 2, 4, 2), (2, 3), 0, "i32"),
)
