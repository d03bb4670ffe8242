"""Cases of fake_quantize. Inputs are drawn from a grid that the bounds lie off: none of its values stands between two
levels, where rounding errors would choose."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

_STEP = 1 / 16
_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _row(shape: tuple[int, ...], bounds: tuple[int, ...], levels: int, kind: str = "f32", sequence: _Sequence = (),
         to: tuple[int, ...] | None = None) -> Case:
    dtype = np.float16 if kind == "f16" else np.float32
    spread = np.arange(np.prod(bounds), dtype=np.float64).reshape(bounds) / 7
    target = np.arange(np.prod(to or bounds), dtype=np.float64).reshape(to or bounds) / 5
    constants = (-1.0311 - spread, 1.2477 + spread, -3.3 + target, 4.1 - 2 * target)
    return Case("FakeQuantize", "opset1", ((shape, kind), *(c.astype(dtype) for c in constants)), {"levels": levels},
                sequence=sequence, step=_STEP, id=f"FakeQuantize-{shape}{kind}-{bounds}-{to}-{levels}".replace(" ", ""))


CASES = (
    _row((2, 18, 5, 6), (1, 18, 1, 1), 255, sequence=(((1, 18, 1, 1),), ((3, 18, 9, 20),), ((3, 18, 0, 2),))),
    _row((2, 18, 5, 6), (), 256),
    _row((3, 40), (40,), 16, "f16"),
    _row((3, 4, 5), (3, 1, 1), 2, to=(1, 4, 5)),
    _row((2, 3, 2, 3, 4), (1, 3, 1, 1, 1), 4, to=()),
    Case("FakeQuantize", "opset1", (((4, 33), "f32"), ((33,), "f32"), ((4, 1), "f32"), ((1,), "f32"), ((), "f32")),
         {"levels": 7}, id="FakeQuantize-bounds-from-inputs"),
)
