"""Cases of matmul."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

Shape = tuple[int, ...]


def _case(id: str, left: Shape, right: Shape, *others: tuple[Shape, Shape], transpose_a: bool = False,
          transpose_b: bool = False, kind: str = "f32") -> Case:
    """A row with both sides as inputs; `others` are further shapes of both."""
    return Case("MatMul", "opset1", ((left, kind), (right, kind)), id=id, sequence=others,
                attributes={"transpose_a": transpose_a, "transpose_b": transpose_b})


def _weights(id: str, left: Shape, right: Shape, *others: Shape, transpose_b: bool = False,
             kind: str = "f32") -> Case:
    """A row with a constant right side; `others` are further shapes of the left one."""
    values = np.sin(np.arange(np.prod(right)) * 0.7).reshape(right)
    return Case("MatMul", "opset1", ((left, kind), values.astype({"f16": np.float16}.get(kind, np.float32))), id=id,
                sequence=tuple((o,) for o in others), attributes={"transpose_a": False, "transpose_b": transpose_b})


_TWO_INPUTS = (
    _case("one-tile", (12, 64), (64, 32)),
    _case("fused_ops", (13, 65), (65, 33), ((1, 20), (20, 70)), ((4, 300), (300, 5)), ((8, 40), (40, 40))),
    _case("tiny", (3, 7), (7, 5)),
    _case("deep", (20, 515), (515, 40)),
    _case("transposed", (17, 30), (21, 17), transpose_a=True, transpose_b=True),
    _case("transposed-left", (2, 17, 30), (17, 9), ((5, 3, 8), (3, 9)), transpose_a=True),
    _case("batch", (4, 9, 17), (4, 17, 33), ((3, 1, 17), (3, 17, 33))),
    _case("batch-transposed", (2, 3, 9, 17), (2, 3, 33, 17), ((2, 3, 1, 17), (2, 3, 5, 17)), transpose_b=True),
    _case("batch-aligned", (1, 4, 24, 32), (1, 4, 32, 64), ((1, 4, 1, 48), (1, 4, 48, 64)),
          ((2, 4, 13, 8), (2, 4, 8, 64))),
    _case("broadcast-left", (2, 1, 30, 17), (3, 17, 40)),
    _case("broadcast-both", (2, 3, 4, 5, 6), (3, 1, 6, 7), ((1, 3, 4, 9, 6), (3, 1, 6, 7))),
    _case("broadcast-right", (2, 5, 30, 17), (1, 1, 21, 17), transpose_b=True),
    _case("shared-right", (2, 5, 30, 17), (17, 21), ((1, 5, 1, 17), (17, 21))),
    _case("dot", (17,), (17,)),
    _case("row", (17,), (2, 3, 17, 9)),
    _case("column", (2, 3, 9, 17), (17,), ((1, 3, 2, 5), (5,))),
    _case("column-transposed", (17, 9), (17,), transpose_a=True),
    _case("six-axes", (2, 1, 2, 1, 9, 5), (3, 1, 2, 5, 7)),
    _case("one-row-batch", (2, 3, 1, 70), (2, 3, 70, 50), ((2, 3, 1, 64), (2, 3, 64, 32))),
    _case("one-row-batch-transposed", (2, 3, 1, 70), (2, 3, 50, 70), ((2, 3, 1, 64), (2, 3, 32, 64)),
          transpose_b=True),
    _case("f16", (2, 9, 35), (2, 35, 40), kind="f16"),
    _case("f16-transposed", (2, 9, 35), (2, 40, 35), transpose_b=True, kind="f16"),
    _case("bf16", (15, 70), (70, 50), ((29, 64), (64, 33)), ((1, 48), (48, 16)), ((3, 530), (530, 8)),
          ((14, 0), (0, 5)), kind="bf16"),
    _case("bf16-transposed", (2, 9, 35), (40, 35), ((3, 14, 32), (32, 32)), ((1, 1, 96), (17, 96)), transpose_b=True,
          kind="bf16"),
    _case("bf16-transposed-left", (35, 18), (35, 21), transpose_a=True, kind="bf16"),
    _case("f64", (5, 9), (9, 6), kind="f64"),
    _case("i32", (5, 9), (9, 6), kind="i32"),
)

_CONSTANT_RIGHT = (
    _weights("weights", (13, 65), (65, 70), (1, 65), (4, 65), (8, 65), (128, 65)),
    _weights("weights-transposed", (13, 65), (70, 65), (1, 65), (4, 65), transpose_b=True),
    _weights("weights-sequence", (2, 7, 65), (65, 40), (1, 1, 65), (3, 20, 65)),
    _weights("weights-deep", (5, 1030), (1030, 24), (1, 1030)),
    _weights("weights-batch", (2, 7, 30), (2, 30, 24)),
    _weights("weights-f16", (6, 40), (33, 40), (1, 40), transpose_b=True, kind="f16"),
)

CASES = (*_TWO_INPUTS, *_CONSTANT_RIGHT)
