"""Cases of grid_sample. Places beyond [-1, 1] lie outside of the picture."""
from __future__ import annotations

from clinfer.ops.operation import Case

_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _row(data: tuple[int, ...], grid: tuple[int, ...], mode: str, padding: str, align: bool, kind: str = "f32",
         sequence: _Sequence = (), reach: float = 2.0) -> Case:
    return Case("GridSample", "opset9", ((data, kind), (grid, "f32")),
                {"mode": mode, "padding_mode": padding, "align_corners": align}, sequence=sequence,
                low=-reach, high=reach, id=f"GridSample-{data}{kind}-{grid}-{mode}-{padding}-{align}".replace(" ", ""))


CASES = (
    _row((2, 3, 5, 7), (2, 4, 6, 2), "bilinear", "zeros", False,
         sequence=(((1, 3, 1, 1), (1, 9, 2, 2)), ((2, 3, 9, 4), (2, 1, 70, 2)))),
    _row((1, 18, 5, 7), (1, 4, 6, 2), "bilinear", "border", True),
    _row((2, 40, 6, 7), (2, 13, 12, 2), "bilinear", "zeros", True, sequence=(((1, 40, 3, 2), (1, 40, 9, 2)),)),
    _row((1, 3, 6, 7), (1, 13, 12, 2), "bicubic", "zeros", False, "f16"),
    _row((1, 2, 5, 7), (1, 9, 6, 2), "bilinear", "reflection", False),
    _row((1, 2, 5, 7), (1, 9, 6, 2), "bilinear", "reflection", True, reach=5.0),
    _row((1, 2, 5, 7), (1, 9, 6, 2), "bicubic", "zeros", True),
    _row((1, 2, 5, 7), (1, 9, 6, 2), "bicubic", "border", False),
    _row((1, 2, 5, 7), (1, 9, 6, 2), "bicubic", "reflection", False, reach=5.0),
    _row((1, 2, 5, 7), (1, 9, 6, 2), "nearest", "zeros", False),
    _row((2, 2, 4, 4), (2, 9, 6, 2), "nearest", "border", False),
    _row((1, 2, 5, 7), (1, 9, 6, 2), "nearest", "reflection", True),
)
