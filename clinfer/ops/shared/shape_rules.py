"""What shape rules (`Primitive.infer_shapes`) share; sizes may be open, and None is for what is not told."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from clinfer.base.shape import ANY, Shape
from clinfer.symbolic.dimensions import same_size


def distinct_axes(value: np.ndarray, rank: int) -> tuple[int, ...] | None:
    """The axes that a value names, counted from the front; None if one does not exist or is named twice."""
    axes = tuple(int(axis) for axis in value.reshape(-1))
    counted = tuple(axis % rank for axis in axes) if rank else ()
    fits = len(counted) == len(axes) and all(-rank <= axis < rank for axis in axes)
    return counted if fits and len(set(counted)) == len(counted) else None


def joined(shapes: Sequence[Shape], axis: int) -> Shape | None:
    """The shape of tensors one behind the other along an axis; None where they do not fit."""
    rank = len(shapes[0])
    if not -rank <= axis < rank or any(len(shape) != rank for shape in shapes):
        return None
    axis %= rank
    sizes = [sum(sizes) if a == axis else same_size(sizes) for a, sizes in enumerate(zip(*shapes, strict=True))]
    return None if None in sizes else tuple(sizes)  # type: ignore[arg-type]


def stretches_to(shape: Shape, target: Shape) -> bool:
    """Whether a shape becomes the target by NumPy's rule of broadcasting, whatever open sizes turn out to be."""
    missing = len(target) - len(shape)
    return missing >= 0 and all(size in (1, wanted) for size, wanted in zip(shape, target[missing:], strict=True))


def without_axes(shapes: Sequence[Shape | None]) -> Shape | None:
    """Input 0's shape with one axis less for each that input 1 names, all sizes open; None if that is unknown.

    An axis that is named twice makes the result wrong, which shows when the shape is known.
    """
    data, count = shapes[0], named_axes(shapes)
    return None if data is None or count is None or count > len(data) else (ANY,) * (len(data) - count)


def named_axes(shapes: Sequence[Shape | None]) -> int | None:
    """How many axes input 1 holds, or None if that is unknown."""
    axes = shapes[1] if len(shapes) > 1 else None
    sizes = () if axes is None else [size for size in axes if isinstance(size, int)]
    return None if axes is None or len(sizes) < len(axes) else prod(sizes)


def cut(size: int, begin: int | None, end: int | None, step: int | None) -> tuple[int, int, int]:
    """(first element, number of elements, step) of an axis under a slice; step is not 0.

    Bounds count and are clamped as Python's; but going down, a `begin` before the first element means the first, as in
    ONNX and OpenVINO.
    """
    step = 1 if step is None else step
    low, high = (0, size) if step > 0 else (-1, size - 1)

    def place(given: int | None, lowest: int, missing: int) -> int:
        if given is None:
            return missing
        return min(max(given + size if given < 0 else given, lowest), high)
    start, stop = place(begin, 0, low if step > 0 else high), place(end, low, high if step > 0 else low)
    count = (stop - start + step - 1) // step if step > 0 else (start - stop - step - 1) // -step
    return start, max(count, 0), step
