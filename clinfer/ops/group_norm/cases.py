"""Cases of group_norm."""
from __future__ import annotations

from clinfer.ops.operation import Case


def _row(shape: tuple[int, ...], groups: int, *others: tuple[int, ...], kind: str = "f32",
         epsilon: float = 1e-5) -> Case:
    channels = (shape[1],)
    return Case("GroupNormalization", "opset12", ((shape, kind), (channels, kind), (channels, kind)),
                {"num_groups": groups, "epsilon": epsilon}, tuple((s, (s[1],), (s[1],)) for s in others))


CASES = (
    _row((2, 20, 7, 9), 4, (1, 20, 30, 30), (3, 20, 1, 1), (0, 20, 4, 4)),
    _row((2, 32, 16, 16), 8, (2, 48, 5, 5)),
    _row((1, 60, 5, 6), 6, epsilon=0.5),
    _row((2, 24, 5, 6), 24),
    _row((2, 40, 9, 40), 1),
    _row((2, 12, 37), 3, (1, 12, 5)),
    _row((1, 32, 3, 4, 5), 4, (2, 32, 2, 2, 9)),
    _row((3, 12), 3),
    _row((2, 36, 5, 6), 4, kind="f16"),
    _row((1, 16, 5, 6), 2, kind="f64"),
)
