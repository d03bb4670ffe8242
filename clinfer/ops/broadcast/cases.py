"""Cases of broadcast."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _row(shape: tuple[int, ...], target: tuple[int, ...], mode: str = "numpy", kind: str = "f32",
         mapping: tuple[int, ...] | None = None, opset: str = "opset3", sequence: _Sequence = ()) -> Case:
    constants = [np.array(v, np.int64) for v in (target, mapping) if v is not None]
    return Case("Broadcast", opset, ((shape, kind), *constants), {"mode": mode}, sequence=sequence,
                id=f"Broadcast-{opset}-{shape}{kind}-{target}-{mode}-{mapping}".replace(" ", ""))


CASES = (
    _row((3, 1), (2, 3, 4)),
    _row((1, 40), (5, 40), kind="f16", opset="opset1"),
    _row((2, 1, 5, 6), (2, 18, 5, 6), kind="i8"),
    _row((2, 18, 1, 6), (2, 18, 5, 6), kind="i64"),
    _row((), (3, 2), kind="i32"),
    _row((1,), (1, 70), kind="boolean"),
    _row((2, 1, 3, 1, 2), (2, 4, 3, 2, 2), kind="u8"),
    _row((4, 1, 24), (3, 1), "bidirectional", sequence=(((2, 1, 24),), ((1, 1, 24),))),
    _row((5, 1), (1, 7), "bidirectional", "f16"),
    _row((5, 1), (1, 70), "bidirectional", sequence=(((2, 1),), ((9, 1),))),
    _row((2, 1), (4, 1, 2, 1), "bidirectional", sequence=(((1, 9),), ((2, 1),))),
    _row((3, 4), (2, 3, 5, 4), "explicit", mapping=(1, 3)),
    _row((6,), (6, 9), "explicit", "i32", mapping=(0,)),
    _row((16,), (2, 16, 3, 3), "explicit", mapping=(1,), opset="opset1"),
)
