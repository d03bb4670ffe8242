"""Shapes: tuples of sizes in which a dynamic dimension is a `Dim` with bounds."""
from __future__ import annotations

from dataclasses import dataclass

UNBOUNDED = 2**62


@dataclass(frozen=True)
class Dim:
    """A dimension known at run time only, within [low, high] (high UNBOUNDED: no limit)."""

    low: int = 0
    high: int = UNBOUNDED

    def admits(self, size: int) -> bool:
        """Whether a run-time size lies within the bounds."""
        return self.low <= size <= self.high

    def __str__(self) -> str:
        if self.high >= UNBOUNDED:
            return f"{self.low}.." if self.low else "?"
        return f"{self.low}..{self.high}"


ANY = Dim()
Size = int | Dim
Shape = tuple[Size, ...]
StaticShape = tuple[int, ...]


def is_static(shape: Shape | None) -> bool:
    """Whether the rank and every dimension are known (None: the rank itself is dynamic)."""
    return shape is not None and all(isinstance(d, int) for d in shape)


def admits(declared: Shape | None, actual: StaticShape) -> bool:
    """Whether a declared (possibly dynamic) shape allows the actual one."""
    if declared is None:
        return True
    return len(declared) == len(actual) and all(
        d.admits(a) if isinstance(d, Dim) else d == a for d, a in zip(declared, actual, strict=True))


def show(shape: Shape | None) -> str:
    """A shape as users read it: `[1,3,48,?]`, `[1..8,16]`, or `[...]` for a dynamic rank."""
    return "[...]" if shape is None else "[" + ",".join(str(d) for d in shape) + "]"


def upper_estimate(shape: Shape | None, unknown: int = 64) -> StaticShape:
    """A static stand-in for planning: bounds where they are small, `unknown` where there are none."""
    if shape is None:
        return (unknown,)
    return tuple(d if isinstance(d, int) else min(d.high, max(d.low, unknown)) for d in shape)
