"""Test rows of the concat room."""
from __future__ import annotations

from clinfer.ops.room import Case


def _row(shapes: tuple[tuple[int, ...], ...], axis: int, kind: str = "f32",
         sequence: tuple[tuple[tuple[int, ...], ...], ...] = ()) -> Case:
    return Case("Concat", "opset1", tuple((shape, kind) for shape in shapes), {"axis": axis}, sequence=sequence)


CASES = (
    _row(((2, 16, 5, 6), (2, 32, 5, 6), (2, 20, 5, 6)), 1,
         sequence=(((1, 16, 3, 4), (1, 32, 3, 4), (1, 20, 3, 4)), ((3, 16, 1, 1), (3, 32, 1, 1), (3, 20, 1, 1)))),
    _row(((1, 3, 5, 6), (1, 20, 5, 6), (1, 1, 5, 6)), 1, "f16"),
    _row(((2, 18, 5, 6), (2, 18, 2, 6)), 2, sequence=(((2, 18, 1, 6), (2, 18, 9, 6)), ((2, 18, 4, 6), (2, 18, 4, 6)))),
    _row(((2, 18, 5, 6), (2, 18, 5, 9)), -1, "f16"),
    _row(((1, 18, 5, 6), (3, 18, 5, 6)), 0),
    _row(((2, 16, 2, 3, 4), (2, 33, 2, 3, 4)), 1, "f16"),
    _row(((2, 5, 4), (2, 3, 4), (2, 9, 4)), 1, "i64",
         sequence=(((2, 1, 4), (2, 30, 4), (2, 2, 4)), ((2, 0, 4), (2, 3, 4), (2, 7, 4)))),
    _row(((40,), (1,), (7,), (16,)), 0, "i32"),
    _row(((3, 2), (3, 40)), 1, "u8"),
    _row(((3, 2), (3, 2)), -1, "boolean"),
    _row(((3, 2, 2, 3, 2, 2), (3, 2, 2, 5, 2, 2)), 3, "i8"),
    _row(((4, 5),), 0),
    _row(((3, 20), (3, 4)), 1, "bf16"),
)
