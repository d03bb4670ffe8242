"""Cases of search_sorted."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

_BOUNDS = np.array([-1, 0, 0, 0.5, 1.5], np.float32)
_ROWS = np.array([[-4, -1, -1, 0, 2], [0, 0, 0, 1, 9], [-9, -3, -2, 7, 8]])


def _buckets(shape: tuple[int, ...], kind: str, bounds: np.ndarray, right: bool, output: str = "i64",
             sequence: tuple[tuple[tuple[int, ...], ...], ...] = ()) -> Case:
    return Case("Bucketize", "opset3", ((shape, kind), bounds), {"output_type": output, "with_right_bound": right},
                sequence=sequence, id=f"Bucketize-{shape}{kind}-{bounds.dtype}-{right}-{output}".replace(" ", ""))


def _search(rows: np.ndarray, values: tuple[tuple[int, ...], str], right: bool, output: str = "i32",
            sequence: tuple[tuple[tuple[int, ...], ...], ...] = ()) -> Case:
    return Case("SearchSorted", "opset15", (rows, values), {"right_mode": right, "output_type": output}, low=-5,
                high=10, sequence=sequence, id=f"SearchSorted-{rows.shape}-{values}-{right}".replace(" ", ""))


CASES = (
    _buckets((3, 7), "f32", _BOUNDS, False, "i32", sequence=(((1, 9),), ((0, 4),))),
    _buckets((5,), "i64", np.array([-1, 1]), True),
    _buckets((5, 2), "i32", _BOUNDS, True),
    _buckets((), "f32", _BOUNDS, True),
    _search(np.sort(_ROWS[2]).astype(np.float32), ((4, 3), "f32"), True, sequence=(((2, 6),), ((0, 3),))),
    _search(_ROWS, ((3, 8), "i64"), False, "i64", sequence=(((3, 1),), ((3, 20),))),
    _search(_ROWS.astype(np.int32)[:, None], ((3, 1, 4), "i32"), True),
    _search(np.array([0.5, 3], np.float16), ((2, 1, 4), "f16"), False),
)
