"""Cases of gather_tree."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _row(shape: tuple[int, ...], kind: str, lengths: tuple[int, ...], end: int, sequence: _Sequence = ()) -> Case:
    numpy = {"i32": np.int32, "f32": np.float32}[kind]
    return Case("GatherTree", "opset1", ((shape, kind), (shape, kind), np.array(lengths, numpy), np.array(end, numpy)),
                low=0, high=shape[2] - (kind == "i32"), sequence=sequence,
                id=f"GatherTree-{shape}{kind}-{lengths}-{end}".replace(" ", ""))


CASES = (
    _row((5, 2, 3), "i32", (5, 3), 1, sequence=(((3, 2, 3),) * 2, ((9, 2, 3),) * 2)),
    _row((6, 3, 5), "i32", (6, 1, 2), 9),
)
