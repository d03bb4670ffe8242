"""What convolutions, in either direction, share: three spatial axes z, y, x, whatever the model's number."""
from __future__ import annotations

from collections.abc import Callable

from clinfer.base.layout import Layout
from clinfer.base.shape import UNBOUNDED, Dim, Shape, Size
from clinfer.base.tensor_view import TensorView

LETTERS = "zyx"


def per_axis(values: tuple[int, ...], neutral: int) -> tuple[int, int, int]:
    """One value per z, y, x from those of the axes that there are."""
    lifted = (neutral,) * (3 - len(values)) + tuple(values)
    return lifted[0], lifted[1], lifted[2]


def axis_arguments(**named: tuple[int, int, int]) -> dict[str, int]:
    """Kernel arguments `<name>_z`, `<name>_y`, `<name>_x`."""
    return {f"{name}_{letter}": value for name, values in named.items()
            for letter, value in zip(LETTERS, values, strict=True)}


def data_view(layout: Layout) -> TensorView:
    """Data or output [B, C, spatial...] as [B, C, Z, Y, X]."""
    return TensorView.of(layout).insert_axes(tuple(range(2, 7 - layout.rank)), pitch=1)


def count(sizes: Shape) -> Size:
    """The product of all sizes, dynamic if one of them is."""
    total: Size = 1
    for size in sizes:
        total = total * size if isinstance(total, int) and isinstance(size, int) else Dim()
    return total


def map_bounds(size: Dim, grow: Callable[[int], int]) -> Size:
    """The bounds, at least 1, of a monotonous function of a dimension."""
    low = max(grow(size.low), 1)
    high = UNBOUNDED if size.high >= UNBOUNDED else grow(size.high)
    return low if low == high else Dim(low, high)
