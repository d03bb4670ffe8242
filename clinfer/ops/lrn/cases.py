"""Cases of lrn."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case


def _row(shape: tuple[int, ...], axes: tuple[int, ...], *others: tuple[int, ...], kind: str = "f32", size: int = 5,
         alpha: float = 2.0, beta: float = 0.75, bias: float = 1.0) -> Case:
    attributes = {"alpha": alpha, "beta": beta, "bias": bias, "size": size}
    return Case("LRN", "opset1", ((shape, kind), np.array(axes, np.int64)), attributes,
                tuple((s,) for s in others), id=f"LRN-{shape}{kind}{axes}-{size}".replace(" ", ""))


CASES = (
    _row((2, 20, 7, 9), (1,), (1, 20, 30, 30), (3, 20, 1, 1)),
    _row((2, 5, 7, 90), (1,), size=3, bias=2.0, beta=0.5),
    _row((2, 20, 7, 9), (1,), size=4),
    _row((2, 5, 7, 9), (2, 3), (1, 5, 3, 30), size=3),
    _row((2, 5, 7, 9), (2, 3), size=4),
    _row((2, 20, 7, 9), (1,), kind="f16"),
    _row((1, 20, 7, 9), (1,), kind="bf16"),
    _row((1, 4, 7, 9), (1,), kind="f64"),
)
