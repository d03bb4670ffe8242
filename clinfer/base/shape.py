"""Shapes: tuples of sizes in which a dynamic dimension is a `Dim` with bounds."""
from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from clinfer.base.errors import ClinferError
from clinfer.base.schema import Natural

UNBOUNDED = 2**62


@dataclass(frozen=True)
class Dim:
    """A dimension known at run time only, within [low, high] (high UNBOUNDED: no limit).

    Arithmetic with it gives `ANY`: what is computed of an open size is open.
    """

    low: Natural = 0
    high: Natural = UNBOUNDED

    def _open(self, other: object = None) -> Any:
        return ANY

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __rfloordiv__ = _open
    __truediv__ = __rtruediv__ = __mod__ = __rmod__ = __neg__ = __ceil__ = __floor__ = _open

    def admits(self, size: int) -> bool:
        """Whether a run-time size lies within the bounds."""
        return self.low <= size and (self.high >= UNBOUNDED or size <= self.high)

    def __str__(self) -> str:
        if self.high >= UNBOUNDED:
            return f"{self.low}.." if self.low else "?"
        return f"{self.low}..{self.high}"


@dataclass(frozen=True, eq=False)
class NamedDim(Dim):
    """A dimension that is told apart by its name: those of one name are equal, and of one size in every execution."""

    name: Hashable = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedDim) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True)
class Broadcast:
    """The name of the size to which sizes of these names stretch: each of them is that size, or 1."""

    names: frozenset[Hashable]


@dataclass(frozen=True)
class Sum:
    """The name of a sum: of sizes of these names, each as often as the number beside it says, and of a number."""

    names: frozenset[tuple[Hashable, int]]
    number: int


ANY = Dim()
Size = Natural | Dim
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


def empty(shapes: tuple[StaticShape, ...]) -> bool:
    """Whether there are shapes, none of which has elements."""
    return bool(shapes) and all(0 in shape for shape in shapes)


def show(shape: Shape | None) -> str:
    """A shape as users read it: `[1,3,48,?]`, `[1..8,16]`, or `[...]` for a dynamic rank."""
    return "[...]" if shape is None else "[" + ",".join(str(d) for d in shape) + "]"


def upper_estimate(shape: Shape | None, unknown: int = 64) -> StaticShape:
    """A static stand-in for planning: bounds where they are small, `unknown` where there are none."""
    if shape is None:
        return (unknown,)
    return tuple(d if isinstance(d, int) else min(d.high, max(d.low, unknown)) for d in shape)


def broadcast_shapes(shapes: tuple[Shape | None, ...]) -> Shape | None:
    """The shape that all of these stretch to by NumPy's rule; None if a rank is dynamic.

    A dynamic dimension against a size above 1 must turn out to be that size or 1.
    """
    if any(shape is None for shape in shapes):
        return None
    known = [shape for shape in shapes if shape is not None]
    rank = max(map(len, known))
    lifted = [(1,) * (rank - len(shape)) + tuple(shape) for shape in known]
    return tuple(_broadcast_sizes([shape[axis] for shape in lifted], known) for axis in range(rank))


def _broadcast_sizes(sizes: list[Size], shapes: list[Shape]) -> Size:
    fixed = [size for size in sizes if isinstance(size, int) and size != 1]
    if any(size != fixed[0] for size in fixed):
        raise ClinferError("shapes do not broadcast", values={"shapes": " ".join(map(show, shapes))})
    if fixed:
        return fixed[0]
    moving = [size for size in sizes if isinstance(size, Dim)]
    if not moving:
        return 1
    if all(d == moving[0] for d in moving):
        return moving[0]
    # Of 0 and 1 the result is 0.
    low = 0 if any(d.low == 0 for d in moving) else max(d.low for d in moving)
    high = max(d.high for d in moving)
    named = [d for d in moving if isinstance(d, NamedDim)]
    if len(named) < len(moving):
        return Dim(low, high)
    return NamedDim(low, high, Broadcast(frozenset().union(*map(names_in, named))))


def add_sizes(sizes: Sequence[Size]) -> Size:
    """Their sum; it has a name if all of them that are not static have one."""
    number = sum(size for size in sizes if isinstance(size, int))
    moving = [size for size in sizes if isinstance(size, Dim)]
    if not moving:
        return number
    low = number + sum(size.low for size in moving)
    high = min(number + sum(size.high for size in moving), UNBOUNDED)
    names: Counter[Hashable] = Counter()
    for size in moving:
        if not isinstance(size, NamedDim):
            return Dim(low, high)
        if isinstance(size.name, Sum):
            names.update(dict(size.name.names))
            number += size.name.number
        else:
            names[size.name] += 1
    only, = names if len(names) == 1 and not number else (None,)
    return NamedDim(low, high, only if names[only] == 1 else Sum(frozenset(names.items()), number))


def names_in(size: NamedDim) -> frozenset[Hashable]:
    """The names of the sizes of which a named one is the broadcast; its own if it is none."""
    return size.name.names if isinstance(size.name, Broadcast) else frozenset((size.name,))
