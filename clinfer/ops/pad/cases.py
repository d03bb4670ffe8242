"""Cases of pad."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.ops.operation import Case


def _row(shape: tuple[int, ...], begins: tuple[int, ...], ends: tuple[int, ...], mode: str = "constant",
         kind: str = "f32", value: float | None = None, opset: str = "opset12",
         sequence: tuple[tuple[tuple[int, ...], ...], ...] = ()) -> Case:
    inputs: tuple[Any, ...] = ((shape, kind), np.array(begins, np.int64), np.array(ends, np.int64))
    if value is not None:
        inputs = (*inputs, np.array(value, ElementType.of(kind).numpy))
    return Case("Pad", opset, inputs, {"pad_mode": mode}, sequence=sequence,
                id=f"Pad-{opset}-{shape}{kind}{begins}{ends}-{mode}-{value}".replace(" ", ""))


CASES = (
    _row((2, 18, 5, 6), (0, 0, 1, 2), (0, 0, 0, 3), value=1.5, sequence=(((1, 18, 3, 70),), ((2, 18, 1, 1),))),
    _row((2, 18, 5, 6), (0, 3, 1, 2), (1, 0, 0, 3), kind="f16"),
    _row((2, 18, 5, 6), (0, -2, 1, -2), (0, 5, -3, 3), value=-1.0),
    _row((2, 18, 5, 6), (0, 0, 4, 2), (0, 0, 3, 5), "reflect", opset="opset1",
         sequence=(((1, 18, 6, 7),), ((2, 18, 5, 9),))),
    _row((2, 18, 5, 6), (1, 0, 4, 2), (0, 2, 3, 6), "symmetric", "f16"),
    _row((2, 18, 5, 6), (1, 0, 7, 2), (0, 2, 3, 9), "edge"),
    _row((2, 3, 4, 5, 6), (0, 1, 0, 1, 1), (1, 1, 0, 2, 1), value=0.5),
    _row((2, 16, 4, 5, 6), (0, 0, 1, 1, 1), (0, 0, 0, 2, 1), "reflect"),
    _row((3, 300), (1, 20), (0, 30), "symmetric", sequence=(((2, 40),), ((1, 600),))),
    _row((3, 300), (1, -20), (2, 30), value=2.0, sequence=(((2, 40),), ((1, 600),), ((0, 40),))),
    _row((9,), (3,), (4,), kind="i64", value=7, sequence=(((1,),), ((100,),))),
    _row((4, 5), (1, 2), (3, 0), kind="i8", value=-7),
    _row((4, 5), (1, 2), (3, 0), kind="i32", value=7),
    _row((4, 5), (-1, 2), (3, -2), kind="i64", value=7, opset="opset12"),
    _row((3, 2, 2, 3, 2, 2), (0, 1, 0, 0, 1, 0), (1, 0, 0, 0, 1, 0)),
    _row((4, 5), (1, 2), (3, 0), kind="f64"),
)
