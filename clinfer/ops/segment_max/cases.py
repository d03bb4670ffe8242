"""Cases of segment_max."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _row(shape: tuple[int, ...], kind: str, segments: tuple[int, ...], count: int | None, fill: str,
         sequence: _Sequence = ()) -> Case:
    given = () if count is None else (np.int32(count),)
    return Case("SegmentMax", "opset16", ((shape, kind), np.array(segments, np.int32), *given), {"fill_mode": fill},
                sequence=sequence, id=f"SegmentMax-{shape}{kind}{segments}-{count}-{fill}".replace(" ", ""))


CASES = (
    _row((5, 3), "f32", (0, 0, 1, 3, 3), 5, "ZERO", sequence=(((5, 1),), ((5, 70),))),
    _row((5, 2, 3), "f16", (1, 1, 1, 3, 4), None, "ZERO"),
    _row((4, 3), "i32", (0, 2, 2, 5), 4, "LOWEST"),
    _row((4,), "i64", (0, 2, 2, 2), None, "ZERO"),
)
