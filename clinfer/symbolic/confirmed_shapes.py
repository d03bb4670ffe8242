"""What a shape rule tells of open sizes, as far as what it tells of sizes bears it out."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement

from clinfer.base.errors import ClinferError
from clinfer.base.shape import ANY, UNBOUNDED, Dim, Shape, Size, is_static
from clinfer.symbolic.shape_inference import ShapeRule, Values

_SIZES = (0, 1, 2, 3, 64)
_LARGEST = 2**20
_NEAR = (-1, 0, 1)
_MOST_NUMBERS = 8
"""Numbers among the values near which sizes are tried; longer values are lists of places or lengths."""


def confirmed(rule: ShapeRule, shapes: Sequence[Shape | None], values: Values,
              told: tuple[Shape | None, ...]) -> tuple[Shape | None, ...]:
    """`told`, the rule's answer to `shapes`, with every size open that its answers to static shapes contradict.

    A rule that counts with bounds may exclude what it gives for sizes within them: OpenVINO's of Slice does for
    bounds near 2^31. The static shapes have one size wherever `shapes` are open, as far as the bounds there admit it:
    a few small ones, the bounds, and those near the numbers among the values and near sums of two, where rules pass
    from one case to the next. Shapes that the rule refuses, or answers with another rank, tell nothing.
    """
    if None in shapes or not any(map(_is_specific, told)):
        return told
    known = [shape for shape in shapes if shape is not None]
    for size in sorted(size for size in set(_sizes_to_try(known, values)) if size <= _LARGEST):
        given = tuple(tuple(_nearest(size, own) for own in shape) for shape in known)
        try:
            told = tuple(map(_widened, told, rule(given, values)))
        except ClinferError:
            continue
    return told


def _is_specific(shape: Shape | None) -> bool:
    """Whether something is told of a size."""
    return shape is not None and any(not isinstance(size, Dim) or size.low > 0 or size.high < UNBOUNDED
                                     for size in shape)


def _sizes_to_try(shapes: Sequence[Shape], values: Values) -> Iterator[int]:
    dims = [size for shape in shapes for size in shape if isinstance(size, Dim)]
    if not dims:
        return
    yield from _SIZES
    for dim in dims:
        yield from (dim.low, dim.high)
    numbers = {abs(int(number)) for value in values.values() if value.dtype.kind in "iu" and value.size <= _MOST_NUMBERS
               for number in value.reshape(-1)}
    for number in (*numbers, *map(sum, combinations_with_replacement(numbers, 2))):
        yield from (number + near for near in _NEAR)


def _nearest(size: int, own: Size) -> int:
    """The size that a dimension admits which is nearest to this one."""
    return own if isinstance(own, int) else min(max(size, own.low), own.high)


def _widened(told: Shape | None, found: Shape | None) -> Shape | None:
    if told is None or found is None or len(told) != len(found) or not is_static(found):
        return told
    return tuple(own if (own == size if isinstance(own, int) else own.admits(size)) else ANY  # type: ignore[arg-type]
                 for own, size in zip(told, found, strict=True))
