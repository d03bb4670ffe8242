"""Cases of dft."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _row(op: str, shape: tuple[int, ...], axes: tuple[int, ...], sizes: tuple[int, ...] = (), kind: str = "f32",
         sequence: _Sequence = ()) -> Case:
    constants = (np.array(axes, np.int64), *((np.array(sizes, np.int64),) if sizes else ()))
    return Case(op, "opset9" if "R" in op else "opset7", ((shape, kind), *constants), sequence=sequence,
                id=f"{op}-{shape}{kind}-{axes}-{sizes}".replace(" ", ""))


CASES = (
    _row("DFT", (2, 10, 2), (1,), sequence=(((3, 7, 2),), ((1, 1, 2),), ((2, 33, 2),))),
    _row("DFT", (2, 6, 5, 2), (1, 2)),
    _row("DFT", (3, 6, 5, 2), (0, -1), (5, 8)),
    _row("IDFT", (2, 10, 2), (-1,)),
    _row("IDFT", (2, 6, 5, 2), (2, 0), (-1, 4)),
    _row("RDFT", (2, 10), (1,), sequence=(((3, 7),), ((1, 40),))),
    _row("RDFT", (2, 6, 5), (1, 2), kind="f16"),
    _row("RDFT", (2, 6, 5), (2, 1), (3, 4)),
    _row("IRDFT", (2, 6, 2), (1,), sequence=(((3, 2, 2),), ((1, 20, 2),))),
    _row("IRDFT", (2, 6, 5, 2), (1, 2)),
    _row("IRDFT", (2, 6, 5, 2), (2, 1), (4, 9)),
)
