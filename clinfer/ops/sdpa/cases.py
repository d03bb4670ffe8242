"""Test rows of the sdpa room."""
from __future__ import annotations

from clinfer.ops.room import Case

Shape = tuple[int, ...]


def _row(query: Shape, key: Shape, value: Shape, *more: tuple[Shape, str], causal: bool = False, kind: str = "f32",
         sequence: tuple[tuple[Shape, ...], ...] = ()) -> Case:
    return Case("ScaledDotProductAttention", "opset13", ((query, kind), (key, kind), (value, kind), *more),
                {"causal": causal}, sequence=sequence)


CASES = (
    _row((2, 3, 10, 16), (2, 3, 10, 16), (2, 3, 10, 16),
         sequence=(((2, 3, 40, 16),) * 3, ((1, 3, 1, 16),) * 3, ((2, 3, 70, 16),) * 3)),
    _row((2, 3, 10, 8), (2, 3, 35, 8), (2, 3, 35, 32), ((1, 1, 10, 35), "f32")),
    _row((2, 3, 10, 16), (2, 3, 70, 16), (2, 3, 70, 48), ((2, 1, 1, 70), "f32"),
         sequence=(((1, 3, 4, 16), (1, 3, 9, 16), (1, 3, 9, 48), (1, 1, 1, 9)),
                   ((3, 3, 17, 16), (3, 3, 32, 16), (3, 3, 32, 48), (3, 1, 1, 32)))),
    _row((2, 3, 10, 16), (2, 3, 70, 16), (2, 3, 70, 16), ((10, 70), "f16"), kind="f16"),
    _row((2, 2, 9, 12), (2, 2, 20, 12), (2, 2, 20, 5), ((9, 20), "f32")),
    _row((1, 4, 37, 64), (1, 4, 37, 64), (1, 4, 37, 64), causal=True),
    _row((1, 4, 20, 16), (1, 4, 20, 16), (1, 4, 20, 7), causal=True, kind="f16"),
    _row((4, 20, 16), (4, 33, 16), (4, 33, 16)),
    _row((2, 3, 10, 16), (2, 3, 20, 16), (2, 3, 20, 16), ((10, 20), "f32"), ((1,), "f32")),
    _row((2, 3, 10, 16), (2, 3, 40, 16), (2, 3, 40, 16), ((1, 1, 10, 40), "boolean")),
    _row((1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 16), ((3, 5), "f32"), ((), "f32")),
    _row((2, 2, 4), (2, 3, 4), (2, 3, 16), causal=True),
    _row((1, 4, 7, 8), (1, 1, 9, 8), (1, 1, 9, 16)),
    _row((1, 4, 7, 8), (1, 4, 9, 8), (1, 4, 9, 16), ((7, 9), "f32"), ((), "f32"), ((1, 4, 1, 1), "f32")),
)
