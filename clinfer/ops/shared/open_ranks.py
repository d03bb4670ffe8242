"""Output ranks that follow from how many axes input 1 names, while it is not known which."""
from __future__ import annotations

import math

from clinfer.base.shape import ANY, Shape


def named_axes(shapes: tuple[Shape | None, ...]) -> int | None:
    """How many axes input 1 holds, or None if that is unknown."""
    axes = shapes[1] if len(shapes) > 1 else None
    return None if axes is None else _count(axes)


def without_axes(shapes: tuple[Shape | None, ...]) -> Shape | None:
    """Input 0's shape with one axis less for each that input 1 names, all sizes open; None if that is unknown.

    An axis that is named twice makes the result wrong, which shows when the shape is known.
    """
    data, count = shapes[0], named_axes(shapes)
    return None if data is None or count is None or count > len(data) else (ANY,) * (len(data) - count)


def _count(shape: Shape) -> int | None:
    sizes = [size for size in shape if isinstance(size, int)]
    return math.prod(sizes) if len(sizes) == len(shape) else None
