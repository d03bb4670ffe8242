"""Cases of batch_space."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

_Ints = tuple[int, ...]
_Sequence = tuple[tuple[_Ints, ...], ...]


def _row(op: str, shape: _Ints, blocks: _Ints, begins: _Ints, ends: _Ints, kind: str = "f32",
         sequence: _Sequence = ()) -> Case:
    return Case(op, "opset2", ((shape, kind), *(np.array(given, np.int64) for given in (blocks, begins, ends))),
                sequence=sequence, id=f"{op}-{shape}{kind}{blocks}{begins}{ends}".replace(" ", ""))


CASES = (
    _row("BatchToSpace", (8, 3, 4, 5), (1, 1, 2, 2), (0, 0, 1, 0), (0, 0, 0, 1),
         sequence=(((4, 3, 2, 7),), ((12, 3, 4, 5),))),
    _row("BatchToSpace", (12, 2, 5), (1, 3, 2), (0, 1, 0), (0, 0, 3), "f16"),
    _row("BatchToSpace", (6, 2, 1, 3, 2), (1, 1, 1, 2, 3), (0, 0, 0, 0, 1), (0, 0, 0, 1, 1), "i32"),
    _row("SpaceToBatch", (2, 3, 5, 6), (1, 1, 2, 2), (0, 0, 1, 0), (0, 0, 0, 2),
         sequence=(((1, 3, 3, 4),), ((2, 3, 7, 2),), ((0, 3, 3, 4),))),
    _row("SpaceToBatch", (2, 4, 5), (1, 3, 2), (0, 1, 0), (0, 1, 3), "f16"),
    _row("SpaceToBatch", (1, 2, 2, 3, 4), (1, 1, 3, 2, 1), (0, 0, 1, 0, 0), (0, 0, 0, 1, 0), "u8"),
)
