"""Cases of cum_sum."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _row(shape: tuple[int, ...], axis: int, kind: str = "f32", exclusive: bool = False, reverse: bool = False,
         sequence: _Sequence = ()) -> Case:
    return Case("CumSum", "opset3", ((shape, kind), np.array(axis, np.int64)),
                {"exclusive": exclusive, "reverse": reverse}, sequence=sequence,
                id=f"CumSum-{shape}{kind}-{axis}-{exclusive}-{reverse}".replace(" ", ""))


CASES = (
    _row((3, 4, 5), 1, sequence=(((1, 9, 2),), ((7, 1, 5),), ((3, 0, 5),))),
    _row((2, 70), -1, exclusive=True),
    _row((2, 18, 5, 3), 1, "f16", reverse=True),
    _row((2, 3, 4, 6), 0, "i64", exclusive=True, reverse=True),
    _row((90,), 0, "i32", sequence=(((1,),), ((33,),))),
    _row((2, 3, 2, 3, 2), 3, "i8", reverse=True),
)
