"""Cases of scatter. Where updates replace each other, the indices are constants without duplicates."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.ops.operation import Case

_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _elements(data: tuple[int, ...], indices: Any, axis: int, reduction: str = "none", initial: bool = True,
              kind: str = "f32", sequence: _Sequence = (), low: float = -2.0, high: float = 1.0) -> Case:
    shape = indices[0] if isinstance(indices, tuple) else indices.shape
    return Case("ScatterElementsUpdate", "opset12", ((data, kind), indices, (shape, kind), np.array(axis)),
                {"reduction": reduction, "use_init_val": initial}, sequence=sequence, low=low, high=high,
                id=f"ScatterElements-{data}{kind}-{shape}-{axis}-{reduction}-{initial}".replace(" ", ""))


def _slices(data: tuple[int, ...], indices: np.ndarray, axis: int, kind: str = "f32",
            sequence: _Sequence = ()) -> Case:
    updates = (*data[:axis], *indices.shape, *data[axis + 1:])
    return Case("ScatterUpdate", "opset3", ((data, kind), indices, (updates, kind), np.array(axis)),
                sequence=sequence, id=f"ScatterUpdate-{data}{kind}-{indices.shape}-{axis}".replace(" ", ""))


def _nd(data: tuple[int, ...], indices: Any, reduction: str = "none", kind: str = "f32", opset: str = "opset15",
        sequence: _Sequence = ()) -> Case:
    shape = indices[0] if isinstance(indices, tuple) else indices.shape
    attributes = {"reduction": reduction} if opset == "opset15" else {}
    return Case("ScatterNDUpdate", opset, ((data, kind), indices, ((*shape[:-1], *data[shape[-1]:]), kind)),
                attributes, sequence=sequence, low=-2.0, high=1.0,
                id=f"ScatterND-{opset}-{data}{kind}-{shape}-{reduction}".replace(" ", ""))


_ONCE = np.array([[[3, 1, 0], [0, -1, 4]], [[-1, 2, 2], [1, 0, 3]]])

CASES = (
    _elements((2, 5, 3), _ONCE, 1, sequence=(((2, 9, 3), (2, 2, 3)),)),
    _elements((4, 3), ((2, 3), "i64"), 0, "sum", sequence=(((7, 3), (9, 3), (9, 3)), ((3, 1), (20, 1), (20, 1)))),
    _elements((2, 6), ((2, 4), "i32"), 1, "sum", False, "i32"),
    _elements((2, 18, 4, 3), ((2, 5, 4, 3), "i64"), 1, "max", kind="f16"),
    _elements((3, 4), ((3, 9), "i64"), -1, "min", False),
    _elements((3, 4), ((2, 3), "i64"), 1, "prod", kind="i64"),
    _elements((2, 18, 4, 3), ((2, 5, 3, 3), "i64"), 1, "sum"),
    _elements((3, 4, 2), ((3, 9, 2), "i64"), 1, "mean"),
    _elements((5, 70), ((40, 70), "i64"), 0, "mean", False,
              sequence=(((300, 3), (7, 3), (7, 3)), ((2, 90), (3, 80), (3, 80)), ((3, 1), (9, 1), (9, 1)))),
    _elements((4, 1), ((90, 1), "i32"), 0, "max", False, "f16", sequence=(((30, 2), (600, 2), (600, 2)),)),
    _elements((3, 4), ((3, 9), "i32"), 1, "mean", False),
    _elements((3, 4), ((3, 9), "i32"), 1, "mean", True, "i32", low=-2, high=1),
    _slices((6, 20), np.array([4, 0]), 0, sequence=(((6, 3), (2, 3)), ((9, 33), (2, 33)))),
    _slices((2, 7, 3, 5), np.array([[1, 6], [0, 3]]), 1, "f16"),
    _slices((5, 3), np.array([3]), 0, "i64"),
    _nd((4, 5, 6), np.array([[3, 0], [1, -1], [0, 2]]), sequence=(((4, 5, 1), (3, 1)), ((9, 7, 20), (3, 20)))),
    _nd((4, 5), np.array([[[0], [2]], [[1], [3]]]), kind="u8", opset="opset4"),
    _nd((4, 5, 2, 3), np.array([[3, 0, 1, 2], [1, 2, 0, 0]]), kind="f16"),
    _nd((4, 5), ((6, 1), "i64"), "sum", sequence=(((3, 9), (2, 1), (2, 9)), ((5, 2), (40, 1), (40, 2)))),
    _nd((4, 3), ((6, 2), "i32"), "max", "i32"),
    _nd((3, 2, 4), ((2, 5, 2), "i64"), "prod"),
    _nd((4, 5), ((9, 1), "i64"), "min", "f16"),
)
