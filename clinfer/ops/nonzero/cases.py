"""Cases of nonzero; small integer ranges make zeros frequent."""
from __future__ import annotations

from clinfer.ops.operation import Case


def _row(shape: tuple[int, ...], kind: str, sequence: tuple[tuple[tuple[int, ...], ...], ...] = (),
         output_type: str = "i64", high: float = 1.0) -> Case:
    return Case("NonZero", "opset3", ((shape, kind),), {"output_type": output_type}, sequence=sequence,
                low=0.0, high=high)


CASES = (
    _row((7, 19), "i32", sequence=(((1, 300),), ((40, 2),), ((0, 19),))),
    _row((2, 3, 5, 7), "boolean", sequence=(((1, 3, 1, 1),), ((2, 3, 9, 30),))),
    _row((2, 18, 5, 3), "i8", output_type="i32", high=3.0),
    _row((70,), "f32", high=0.0),
    _row((5000,), "i64"),
    _row((3, 5), "f16", sequence=(((0, 5),), ((100, 5),)), high=2.0),
    _row((2, 2, 3, 2, 3, 2), "u8"),
    _row((2, 3, 4, 2, 5), "i64", output_type="i32"),
    _row((), "f32"),
    _row((130,), "bf16"),
)
