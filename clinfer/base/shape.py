"""Shapes: tuples of sizes in which a dynamic dimension is a `Dim` with bounds."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from clinfer.base.schema import Natural

UNBOUNDED = 2**62
_MOST_ELEMENTS = 2**59
"""Of which the bytes can be counted, whatever their type."""


@dataclass(frozen=True)
class Dim:
    """A dimension known at run time only, within [low, high] (high UNBOUNDED: no limit).

    What is computed of an open size is open: sums, differences (which may lie below 0, or have no lower limit:
    -UNBOUNDED), products, and quotients and rests by a number have the bounds that follow, all else is `ANY`.
    """

    low: Natural = 0
    high: Natural = UNBOUNDED

    def __add__(self, other: Any) -> Any:
        return _bounded(self, other, lambda a, b: (_sum(a.low, b.low), _sum(a.high, b.high)))

    def __sub__(self, other: Any) -> Any:
        return _bounded(self, other, lambda a, b: (_sum(a.low, -b.high), _sum(a.high, -b.low)))

    def __rsub__(self, other: Any) -> Any:
        return _bounded(self, other, lambda a, b: (_sum(b.low, -a.high), _sum(b.high, -a.low)))

    def __mul__(self, other: Any) -> Any:
        def corners(a: Dim, b: Dim) -> tuple[int, int]:
            found = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
            return min(found), max(found)
        return _bounded(self, other, corners)

    def __floordiv__(self, other: Any) -> Any:
        return _bounded(self, other, lambda a, b: (
            _quotient(a.low, b.low), _quotient(a.high, b.low)) if b.low == b.high > 0 else None)

    def __mod__(self, other: Any) -> Any:
        return _bounded(self, other, lambda a, b: (0, b.high - 1) if b.low == b.high > 0 else None)

    def _open(self, other: object = None) -> Any:
        return ANY

    __radd__, __rmul__ = __add__, __mul__
    __rfloordiv__ = __truediv__ = __rtruediv__ = __rmod__ = __neg__ = __ceil__ = __floor__ = _open

    def admits(self, size: int) -> bool:
        """Whether a run-time size lies within the bounds."""
        return self.low <= size and (self.high >= UNBOUNDED or size <= self.high)

    def __str__(self) -> str:
        if self.high >= UNBOUNDED:
            return f"{self.low}.." if self.low else "?"
        return f"{self.low}..{self.high}"


ANY = Dim()


def _sum(one: int, other: int) -> int:
    """The sum of two bounds; there is no limit where one of them is none."""
    return next((bound for bound in (one, other) if abs(bound) >= UNBOUNDED), one + other)


def _quotient(bound: int, divisor: int) -> int:
    return bound if abs(bound) >= UNBOUNDED else bound // divisor


def _bounded(size: Dim, other: object, bounds: Callable[[Dim, Dim], tuple[int, int] | None]) -> Dim:
    """What is computed of a size and a number or another size, within these bounds; `ANY` where there are none."""
    known = Dim(other, other) if isinstance(other, int) else other if isinstance(other, Dim) else None
    found = None if known is None else bounds(size, known)
    return ANY if found is None else Dim(max(found[0], -UNBOUNDED), min(found[1], UNBOUNDED))


Size = Natural | Dim
Shape = tuple[Size, ...]
StaticShape = tuple[int, ...]


def is_static(shape: Shape | None) -> bool:
    """Whether the rank and every dimension are known (None: the rank itself is dynamic)."""
    if shape is None:
        return False
    for size in shape:  # noqa: SIM110 (a generator takes three times as long)
        if not isinstance(size, int):
            return False
    return True


def is_one(size: Size) -> bool:
    """Whether a size is the number 1. A symbol, which stands for other sizes as well, is not, and no trace asks it."""
    return type(size) is int and size == 1


def admits(declared: Shape | None, actual: StaticShape) -> bool:
    """Whether a declared (possibly dynamic) shape allows the actual one."""
    if declared is None:
        return True
    if len(declared) != len(actual):
        return False
    for size, found in zip(declared, actual, strict=True):
        if not (size.admits(found) if isinstance(size, Dim) else size == found):
            return False
    return True


def count_bounds(shape: Shape) -> tuple[int, int]:
    """The fewest and the most elements that a shape admits."""
    return (prod(size.low if isinstance(size, Dim) else size for size in shape),
            prod(size.high if isinstance(size, Dim) else size for size in shape))


def empty(shapes: tuple[StaticShape, ...]) -> bool:
    """Whether there are shapes, none of which has elements."""
    return bool(shapes) and all(0 in shape for shape in shapes)


def is_too_large(shape: StaticShape) -> bool:
    """Whether no array has a shape although there are no elements in it: its other sizes cannot be multiplied."""
    return prod(shape) == 0 and prod(size for size in shape if size != 0) >= _MOST_ELEMENTS


def show(shape: Shape | None) -> str:
    """A shape as users read it: `[1,3,48,?]`, `[1..8,16]`, or `[...]` for a dynamic rank."""
    return "[...]" if shape is None else "[" + ",".join(str(d) for d in shape) + "]"


def upper_estimate(shape: Shape | None, unknown: int = 64) -> StaticShape:
    """A static stand-in for planning: bounds where they are small, `unknown` where there are none."""
    if shape is None:
        return (unknown,)
    return tuple(d if isinstance(d, int) else min(d.high, max(d.low, unknown)) for d in shape)
