"""What convolutions, in either direction, share: three spatial axes z, y, x, whatever the model's number."""
from __future__ import annotations

from collections.abc import Callable

from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.base.shape import UNBOUNDED, Dim, Shape, Size, show
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Problem
from clinfer.symbolic.dimensions import NamedDim
from clinfer.topology import Primitive

LETTERS = "zyx"


def per_axis(values: tuple[int, ...], neutral: int) -> tuple[int, int, int]:
    """One value per z, y, x from those of the axes that there are."""
    lifted = (neutral,) * (3 - len(values)) + tuple(values)
    return lifted[0], lifted[1], lifted[2]


def axis_arguments(**named: tuple[int, int, int]) -> dict[str, int]:
    """Kernel arguments `<name>_z`, `<name>_y`, `<name>_x`."""
    return {f"{name}_{letter}": value for name, values in named.items()
            for letter, value in zip(LETTERS, values, strict=True)}


def side_constants(**pairs: tuple[int, int]) -> dict[str, int]:
    """Kernel constants `<name>_Y`, `<name>_X`."""
    return {f"{name}_{side}": value for name, pair in pairs.items() for side, value in zip("YX", pair, strict=True)}


def pad_arguments(problem: Problem, pad: Callable[[int, int], int]) -> dict[str, int]:
    """Kernel arguments `pad_y`, `pad_x`: what `pad` tells for the spatial axes of input 0 [n, c, h, w] and their sizes;
    0 where sizes are open."""
    return {f"pad_{side}": pad(axis, problem.inputs[0].static_shape[2 + axis]) if problem.is_static else 0
            for axis, side in enumerate("yx")}


def data_view(layout: Layout) -> TensorView:
    """Data or output [B, C, spatial...] as [B, C, Z, Y, X]."""
    return TensorView.of(layout).insert_axes(tuple(range(2, 7 - layout.rank)), pitch=1)


def reach(filter_size: int, dilation: int) -> int:
    """Over how many elements a filter stretches; one without elements over 1, as OpenVINO's shape rules have it."""
    return (max(filter_size, 1) - 1) * dilation + 1


def map_bounds(size: Dim, grow: Callable[[int], int], least: int) -> Size:
    """The bounds, none below `least`, of a monotonous function of a dimension."""
    low = max(grow(size.low), least)
    high = UNBOUNDED if size.high >= UNBOUNDED else grow(size.high)
    return low if low == high else Dim(low, high)


def map_windows(size: Dim, grow: Callable[[int], int], pads: tuple[int, int] | None, window: int, stride: int) -> Size:
    """`map_bounds` for the number of windows of `window` elements in a padded dimension; its name follows from them.

    `pads` None: as many as give every step of the stride a window; else there is one at least.
    """
    mapped = map_bounds(size, grow, 0 if pads is None else 1)
    if not isinstance(size, NamedDim) or isinstance(mapped, int):
        return mapped
    surplus = sum(pads) - window + 1 if pads is not None else None
    kept = stride == 1 and not surplus
    return NamedDim(mapped.low, mapped.high, size.name if kept else (size.name, "windows", stride, surplus))


def check_axes(primitive: Primitive, data: Shape, weights: Shape, filters: Shape, steps: int) -> None:
    """An error unless data, filter and the `steps` strides have the same one to three spatial axes."""
    if len(filters) != len(data) - 2 or len(filters) != steps or not 1 <= len(filters) <= 3:
        raise ClinferError("data, weights and strides must have the same one to three spatial axes",
                           where=primitive.where, values=shown(data, weights))


def check_channels(primitive: Primitive, data: Shape, weights: Shape, wanted: Size) -> None:
    """An error where the data has other channels than the `wanted` ones, those of the weights."""
    if isinstance(data[1], int) and isinstance(wanted, int) and data[1] != wanted:
        raise ClinferError("data and weights differ in the number of input channels", where=primitive.where,
                           values=shown(data, weights))


def shown(data: Shape, weights: Shape) -> dict[str, object]:
    """What errors show of the shapes."""
    return {"data": show(data), "weights": show(weights)}
