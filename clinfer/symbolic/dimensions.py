"""Dimensions that are told apart by name: what an open size is of other open sizes."""
from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from clinfer.base.errors import ClinferError
from clinfer.base.shape import Dim, Shape, Size, is_one, show
from clinfer.symbolic.forms import Form, calculate


@dataclass(frozen=True, eq=False)
class NamedDim(Dim):
    """A dimension that is told apart by its name: those of one name are equal, and of one size in every execution.

    What is computed of named ones and numbers has a name again, which tells how: a `Form` of names, of which what has
    no form of its own (a sum of several names, their broadcast, a quotient) is one.
    """

    name: Hashable = None

    @property
    def form(self) -> Form:
        """The size as an expression."""
        return self.name if isinstance(self.name, Form) else Form.atom(self.name)

    def __add__(self, other: Any) -> Any:
        return _computed("+", self, other, super().__add__(other))

    def __sub__(self, other: Any) -> Any:
        return _computed("-", self, other, super().__sub__(other))

    def __rsub__(self, other: Any) -> Any:
        return _computed("-", other, self, super().__rsub__(other))

    def __mul__(self, other: Any) -> Any:
        return _computed("*", self, other, super().__mul__(other))

    def __floordiv__(self, other: Any) -> Any:
        return _computed("//", self, other, super().__floordiv__(other))

    def __mod__(self, other: Any) -> Any:
        return _computed("%", self, other, super().__mod__(other))

    __radd__, __rmul__ = __add__, __mul__

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
    """The name of a sum of several products of names, each as often as the number beside it says."""

    terms: frozenset[tuple[tuple[Any, ...], int]]


@dataclass(frozen=True)
class Computed:
    """The name of left sign right."""

    sign: str
    left: Form
    right: Form


def _computed(sign: str, left: object, right: object, bounds: Dim) -> Size:
    """What is computed of a named size and another or a number, within these bounds."""
    one, other = (x.form if isinstance(x, NamedDim) else Form.of(x) if isinstance(x, int) else None
                  for x in (left, right))
    if one is None or other is None:
        return bounds
    found = calculate(sign, one, other)
    if found is None:
        found = _sum_of(one, other if sign == "+" else other.negated()) if sign in "+-" else Form.atom(
            Computed(sign, one, other))
    if not found.atoms:
        return found.constant
    return NamedDim(bounds.low, bounds.high, found.atoms[0] if found == Form.atom(found.atoms[0]) else found)


def _sum_of(one: Form, other: Form) -> Form:
    """The form of a sum; what it adds up of other sums is its own."""
    terms: Counter[tuple[Any, ...]] = Counter()
    for form in (one, other):
        only = form.atoms[0] if len(form.atoms) == 1 else None
        for atoms, times in only.terms if isinstance(only, Sum) else [(form.atoms, 1)]:
            terms[atoms] += times * form.factor
    left = [(atoms, times) for atoms, times in terms.items() if times]
    constant = one.constant + other.constant
    if len(left) == 1:
        return Form(left[0][1], left[0][0], constant)
    return Form(1, (Sum(frozenset(left)),), constant) if left else Form.of(constant)


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
    sizes = [size for size in sizes if not is_one(size)] or [1]
    if all(size == sizes[0] for size in sizes):
        return sizes[0]
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
    return stretched(moving, low, max(d.high for d in moving))


def stretched(sizes: Sequence[Size], low: int, high: int) -> Dim:
    """The open size within these bounds to which sizes stretch; with a name where all have one."""
    named = [size for size in sizes if isinstance(size, NamedDim)]
    if len(named) < len(sizes):
        return Dim(low, high)
    return NamedDim(low, high, Broadcast(frozenset().union(*map(names_in, named))))


def same_size(sizes: Sequence[Size]) -> Size | None:
    """The one of sizes, which have to be equal, that tells most of all of them; None if two are known to differ."""
    told = min(sizes, key=lambda size: 0 if not isinstance(size, Dim) else 1 if isinstance(size, NamedDim) else 2)
    return None if any(differ(told, size) for size in sizes) else told


def differ(one: Size, other: Size) -> bool:
    """Whether two sizes are known to be different."""
    if isinstance(one, Dim):
        return not isinstance(other, Dim) and not one.admits(other)
    return not other.admits(one) if isinstance(other, Dim) else one != other


def is_open(*shapes: Shape) -> bool:
    """Whether there is an open size among the shapes'."""
    return any(isinstance(size, Dim) for shape in shapes for size in shape)


def names_in(size: NamedDim) -> frozenset[Hashable]:
    """The names of the sizes of which a named one is the broadcast; its own if it is none."""
    return size.name.names if isinstance(size.name, Broadcast) else frozenset((size.name,))
