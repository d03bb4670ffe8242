"""Cases of reduce."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case


def _row(mode: str, shape: tuple[int, ...], axes: tuple[int, ...], keep_dims: bool = True, kind: str = "f32",
         sequence: tuple[tuple[tuple[int, ...], ...], ...] = (), low: float = -2.0, high: float = 2.0) -> Case:
    return Case(f"Reduce{mode}", "opset4", ((shape, kind), np.array(axes, np.int64)), {"keep_dims": keep_dims},
                sequence=sequence, low=low, high=high,
                id=f"Reduce{mode}-{shape}{kind}-{axes}{'-keep' if keep_dims else ''}".replace(" ", ""))


CASES = (
    _row("Mean", (2, 40, 7, 9), (2, 3), sequence=(((1, 40, 3, 3),), ((3, 40, 1, 20),))),
    _row("Mean", (2, 32, 7, 9), (2, 3), False, "f16"),
    _row("Mean", (3, 5, 70), (-1,), sequence=(((2, 5, 70),), ((2, 5, 3),), ((1, 1, 200),))),
    _row("Mean", (2, 3, 10), (-1,), kind="i32", low=-50, high=50),
    _row("Sum", (2, 20, 5, 6), (1,), sequence=(((2, 32, 5, 6),), ((2, 3, 1, 1),))),
    _row("Sum", (2, 32, 5, 6), (1,), False, "f16"),
    _row("Sum", (4, 6, 48), (1,), False, "f32"),
    _row("Sum", (4, 6, 5), (0, 2), False, "i64", low=-9, high=9),
    _row("Sum", (4, 6, 5), (), kind="f32"),
    _row("Sum", (3, 4), (0, 1), False, "f16", sequence=(((0, 4),), ((30, 4),))),
    _row("Sum", (2, 16, 3, 4, 5), (2, 3, 4), kind="f32"),
    _row("Max", (2, 18, 5, 6), (3,), False, "f32", sequence=(((2, 18, 1, 20),), ((1, 18, 5, 33),))),
    _row("Max", (5, 33), (1,), kind="i8", low=-100, high=100),
    _row("Max", (5, 33), (0,), kind="u8", low=0, high=200),
    _row("Min", (2, 3, 4, 5, 6), (1, 3), kind="f16"),
    _row("Min", (5, 33), (1,), False, "i64", low=-100, high=100),
    _row("Prod", (5, 9), (1,), low=0.5, high=1.5),
    _row("Prod", (5, 4), (0,), False, "i32", low=1, high=4),
    _row("L1", (2, 5, 40), (2,), sequence=(((1, 3, 15),), ((1, 3, 16),))),
    _row("L1", (2, 5, 8), (1,), kind="i32", low=-9, high=9),
    _row("L2", (2, 33, 5, 6), (1,), False, "f32"),
    _row("L2", (2, 5, 16), (0, 2), kind="f16"),
    _row("LogicalAnd", (3, 40), (1,), False, "boolean"),
    _row("LogicalAnd", (3, 2), (1,), True, "boolean"),
    _row("LogicalOr", (3, 2, 4), (0, 2), True, "boolean"),
    _row("LogicalOr", (3, 4), (0,), False, "boolean"),
    _row("Mean", (2, 3, 2, 3, 2, 3), (1, 3, 5), False, "f32"),
    _row("Sum", (70,), (0,), False, "f32", sequence=(((1,),), ((16,),), ((300,),))),
    Case("ReduceSum", "opset1", (((3, 4, 5), "f32"), ((2,), "i64")), {"keep_dims": True}, low=0, high=2,
         id="ReduceSum-axes-from-input"),
    Case("ReduceMax", "opset1", (((3, 4, 18, 5), "f32"), ((1,), "i32")), {"keep_dims": True}, low=-3, high=3,
         sequence=(((1, 4, 2, 5), (1,)), ((3, 4, 20, 33), (1,))), id="ReduceMax-axis-from-input"),
    _row("Sum", (3, 40), (1,), kind="f64"),
    _row("Max", (3, 40), (0,), False, "bf16"),
    _row("Mean", (3, 4, 40), (1,), kind="u8", low=0, high=50),
    _row("Min", (3, 40), (1,), kind="u64", low=0, high=50),
)
