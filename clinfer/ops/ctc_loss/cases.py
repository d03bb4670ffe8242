"""Cases of ctc_loss."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

_LABELS = np.array([[0, 1, 2, 2, 0, 0, 3, 1], [3, 3, 0, 3, 1, 0, 0, 0], [2, 2, 2, 0, 0, 0, 0, 0]], np.int32)


def _row(blank: int | None = None, kind: str = "f32", collapses: bool = False, merges: bool = True,
         unique: bool = False, integers: type = np.int32,
         sequence: tuple[tuple[tuple[int, ...], ...], ...] = ()) -> Case:
    given = () if blank is None else (integers(blank),)
    return Case("CTCLoss", "opset4", (((3, 8, 5), kind), np.array([8, 7, 4], integers), _LABELS.astype(integers),
                                      np.array([3, 5, 2], integers), *given),
                {"preprocess_collapse_repeated": collapses, "ctc_merge_repeated": merges, "unique": unique}, sequence,
                id=f"CTCLoss-{blank}-{kind}-{collapses}-{merges}-{unique}")


CASES = (
    _row(4, sequence=(((3, 8, 9),), ((3, 8, 5),))),
    _row(kind="f16"),
    _row(collapses=True),
    _row(4, merges=False, integers=np.int64),
    _row(4, unique=True),
    _row(collapses=True, merges=False),
)
