"""Cases of split."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case


def _split(shape: tuple[int, ...], axis: int, parts: int, kind: str = "f32",
           sequence: tuple[tuple[tuple[int, ...], ...], ...] = ()) -> Case:
    return Case("Split", "opset1", ((shape, kind), np.array(axis, np.int64)), {"num_splits": parts},
                sequence=sequence, id=f"Split-{shape}{kind}-{axis}-{parts}".replace(" ", ""))


def _variadic(shape: tuple[int, ...], axis: int, lengths: tuple[int, ...], kind: str = "f32",
              sequence: tuple[tuple[tuple[int, ...], ...], ...] = ()) -> Case:
    return Case("VariadicSplit", "opset1", ((shape, kind), np.array(axis, np.int64), np.array(lengths, np.int64)),
                sequence=sequence, id=f"VariadicSplit-{shape}{kind}-{axis}-{lengths}".replace(" ", ""))


CASES = (
    _split((2, 64, 5, 6), 1, 2, sequence=(((1, 64, 3, 3),), ((2, 64, 9, 2),))),
    _split((2, 18, 5, 6), 1, 3, "f16", sequence=(((2, 6, 5, 6),), ((2, 33, 5, 6),))),
    _split((3, 4, 48), -1, 3, sequence=(((3, 1, 48),), ((5, 4, 48),))),
    _split((2, 32, 3, 4, 4), 1, 2, "f16"),
    _split((2, 24, 9), 1, 2, sequence=(((1, 24, 3),), ((3, 24, 40),))),
    _split((3, 24), 1, 3, sequence=(((1, 24),), ((7, 24),))),
    _split((8, 3), 0, 8, "i64"),
    _split((2, 3, 4, 5, 6), 2, 2, "u8"),
    _split((6,), 0, 3, "boolean"),
    _split((3, 20, 2), -1, 2, sequence=(((2, 9, 2),), ((1, 300, 2),), ((2, 0, 2),))),
    _variadic((2, 40, 5, 6), 1, (16, 24), sequence=(((2, 40, 2, 3),), ((1, 40, 5, 6),))),
    _variadic((2, 40, 5, 6), 1, (3, -1, 20), "f16"),
    _variadic((2, 40, 4, 6), 2, (1, -1), "f32", sequence=(((2, 40, 2, 6),), ((2, 40, 7, 6),))),
    _variadic((2, 40, 9), 1, (16, 4, 20), sequence=(((1, 40, 3),), ((3, 40, 40),))),
    _variadic((5, 30), 0, (0, 2, 3), "i32"),
    _variadic((30,), 0, (1, 28, 1), "i8"),
)
