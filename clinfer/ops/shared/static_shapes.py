"""Shape rules by arithmetic (`Primitive.static_shapes`) that operations share; None where OpenVINO should be asked."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clinfer.base.shape import StaticShape


def distinct_axes(value: np.ndarray, rank: int) -> tuple[int, ...] | None:
    """The axes that a value names, counted from the front; None if one does not exist or is named twice."""
    axes = tuple(int(axis) for axis in value.reshape(-1))
    counted = tuple(axis % rank for axis in axes) if rank else ()
    fits = len(counted) == len(axes) and all(-rank <= axis < rank for axis in axes)
    return counted if fits and len(set(counted)) == len(counted) else None


def joined(shapes: Sequence[StaticShape], axis: int) -> StaticShape | None:
    """The shape of tensors one behind the other along an axis."""
    first, *others = shapes
    if not -len(first) <= axis < len(first) or any(len(shape) != len(first) for shape in others):
        return None
    axis %= len(first)
    if any(size != first[a] for shape in others for a, size in enumerate(shape) if a != axis):
        return None
    return (*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1:])


def stretches_to(shape: StaticShape, target: StaticShape) -> bool:
    """Whether a shape becomes the target by NumPy's rule of broadcasting."""
    missing = len(target) - len(shape)
    return missing >= 0 and all(size in (1, wanted) for size, wanted in zip(shape, target[missing:], strict=True))


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
