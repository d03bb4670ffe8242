"""Cases of eye. The number of rows comes at run time, as constants alone would be computed at build."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.ops.operation import Case


def _row(columns: Any, diagonal: Any, batch: tuple[int, ...] = (), kind: str = "f32") -> Case:
    sizes = (((1,), "i64"), *(np.array(x) if isinstance(x, int) else x for x in (columns, diagonal)))
    return Case("Eye", "opset9", (*sizes, np.array(batch, np.int64)) if batch else sizes, {"output_type": kind},
                low=1, high=9, id=f"Eye-{columns}-{diagonal}-{batch}{kind}".replace(" ", ""))


CASES = (
    _row(7, 2),
    _row(3, -1, (2, 3), "i64"),
    _row(6, 0, (2,), "u8"),
    _row(3, 9, kind="i32"),
    _row(((1,), "i64"), ((), "i32")),
)
