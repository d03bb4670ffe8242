"""Cases of one_hot; indices lie below, within and above the new axis."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _row(shape: tuple[int, ...], depth: int, axis: int = -1, kind: str = "i64",
         values: tuple[np.ndarray, np.ndarray] = (np.array(5, np.float32), np.array(-2, np.float32)),
         mode: str = "", sequence: _Sequence = ()) -> Case:
    attributes = {"axis": axis, **({"negative_indices_mode": mode} if mode else {})}
    return Case("OneHot", "opset16" if mode else "opset1", ((shape, kind), np.array(depth, np.int64), *values),
                attributes, sequence=sequence, low=-4.0, high=6.0,
                id=f"OneHot-{shape}{kind}-{depth}-{axis}-{values[0].dtype}-{mode}".replace(" ", ""))


CASES = (
    _row((3, 4), 5, sequence=(((1, 9),), ((20, 2),), ((0, 4),))),
    _row((2, 3, 5), 4, 1, "i32", (np.array(True), np.array(False))),
    _row((7,), 3, 0, "i64", (np.array(9, np.int64), np.array(0, np.int64))),
    _row((2, 18, 3, 2), 4, 2, "i32", (np.array(1, np.float16), np.array(0, np.float16))),
    _row((), 4, -1, "i32", (np.array(3, np.int32), np.array(1, np.int32))),
    _row((5,), 4, mode="normalize", sequence=(((1,),), ((30,),))),
    _row((2, 6), 4, 0, mode="ignore_negative"),
)
