"""Cases of normalize_l2."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case


def _row(shape: tuple[int, ...], axes: tuple[int, ...], *others: tuple[int, ...], kind: str = "f32",
         eps: float = 1e-6, mode: str = "add") -> Case:
    return Case("NormalizeL2", "opset1", ((shape, kind), np.array(axes, np.int64)), {"eps": eps, "eps_mode": mode},
                tuple((s,) for s in others), id=f"NormalizeL2-{shape}{kind}{axes}-{eps}{mode}".replace(" ", ""))


CASES = (
    _row((2, 20, 7, 9), (1,), (1, 3, 5, 30), (2, 1, 4, 8), (2, 20, 0, 3)),
    _row((2, 20, 4, 8), (1,), eps=20.0, mode="max"),
    _row((2, 20, 4, 8), (1,), eps=30.0),
    _row((2, 5, 130), (2,), (1, 3, 7), (2, 1, 40)),
    _row((3, 50), (-1,), mode="max"),
    _row((2, 5, 6, 9), (1, 2, 3)),
    _row((2, 16, 6, 9), (2, 3)),
    _row((2, 5, 6, 9), (0, 2)),
    _row((2, 3, 2, 4, 5), (1,)),
    _row((2, 20, 4, 8), (1,), kind="f16"),
    _row((2, 40), (1,), kind="bf16"),
    _row((2, 40), (1,), kind="f64"),
    Case("GRN", "opset1", (((2, 4, 3, 5), "f32"),), {"bias": 0.3}, sequence=(((1, 4, 7, 2),), ((3, 4, 1, 1),))),
    Case("GRN", "opset1", (((2, 5, 7), "f16"),), {"bias": 1.0}),
)
