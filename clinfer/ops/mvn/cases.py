"""Cases of MVN."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.ops.operation import Case


def _row(shape: tuple[int, ...], axes: tuple[int, ...], kind: str = "f32", eps: float = 1e-5,
         sequence: tuple[tuple[tuple[int, ...], ...], ...] = (), **more: Any) -> Case:
    attributes = {"normalize_variance": True, "eps": eps, "eps_mode": "inside_sqrt", **more}
    shown = "-".join(str(v) for v in attributes.values())
    return Case("MVN", "opset6", ((shape, kind), np.array(axes, np.int64)), attributes, sequence=sequence,
                id=f"MVN-{shape}{kind}{axes}-{shown}".replace(" ", ""))


CASES = (
    _row((2, 5, 48), (-1,), sequence=(((1, 3, 48),), ((2, 2, 7),), ((1, 1, 130),))),
    _row((2, 5, 33), (2,), "f16"),
    _row((2, 5, 33), (2,), eps_mode="outside_sqrt", eps=0.1),
    _row((2, 5, 33), (2,), normalize_variance=False),
    _row((2, 40, 5, 6), (2, 3), sequence=(((1, 40, 3, 4),), ((3, 40, 1, 20),))),
    _row((2, 32, 5, 6), (2, 3), "f16"),
    _row((2, 32, 4, 8), (1,), "f32", sequence=(((2, 32, 3, 3),), ((1, 32, 1, 16),))),
    _row((2, 8, 5, 6), (1, 2, 3), "f32"),
    _row((2, 8, 5, 6), (0, 2), "f32", eps_mode="OUTSIDE_SQRT"),
    _row((2, 8, 5, 6), (1, 3), "f16", normalize_variance=False),
    _row((2, 16, 3, 4, 5), (2, 3, 4)),
    _row((2, 3, 2, 4, 2, 3), (1, 3, 5)),
    _row((50,), (0,)),
    Case("MVN", "opset2", (((2, 20, 5, 6), "f32"),), {"eps": 1e-3, "normalize_variance": True,
                                                      "across_channels": False}),
    Case("MVN", "opset2", (((2, 3, 5, 6), "f32"),), {"eps": 1e-3, "normalize_variance": True,
                                                     "across_channels": True}),
    _row((2, 5, 40), (2,), "bf16"),
    _row((2, 5, 40), (2,), "f64"),
)
