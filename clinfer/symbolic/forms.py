"""Whole numbers as expressions of others, and what is known of them: the form of a dimension that is open, and of a
symbol on a trace."""
from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple


class Form(NamedTuple):
    """factor * product(atoms) + constant; atoms are sorted names. A plain number has no atoms and the factor 0."""

    factor: int
    atoms: tuple[Any, ...]
    constant: int

    @staticmethod
    @lru_cache(maxsize=4096, typed=True)
    def of(number: int) -> Form:
        """A plain number."""
        return Form(0, (), number)

    @staticmethod
    def atom(name: Hashable) -> Form:
        """What is nothing but its name."""
        return Form(1, (name,), 0)

    def negated(self) -> Form:
        return Form(-self.factor, self.atoms, -self.constant)

    def plus(self, number: int) -> Form:
        return Form(self.factor, self.atoms, self.constant + number)


def product_of(atoms: Iterable[Hashable]) -> tuple[Any, ...]:
    """Names in the order in which forms have them."""
    try:
        return tuple(sorted(atoms))
    except TypeError:
        return tuple(sorted(atoms, key=hash))


def calculate(sign: str, left: Form, right: Form) -> Form | None:
    """left sign right, or None where that has no form."""
    if sign == "+":
        return _sum(left, right)
    if sign == "-":
        return _sum(left, right.negated())
    if sign == "*":
        return _product(left, right)
    if sign in ("//", "%") and not right.atoms and right.constant > 0 and left.factor % right.constant == 0:
        by = right.constant
        if sign == "%" or not left.atoms:
            return Form.of(left.constant % by if sign == "%" else left.constant // by)
        return Form(left.factor // by, left.atoms, left.constant // by)
    return None


def _sum(left: Form, right: Form) -> Form | None:
    if left.atoms and right.atoms and left.atoms != right.atoms:
        return None
    factor, constant = left.factor + right.factor, left.constant + right.constant
    return Form(factor, left.atoms or right.atoms, constant) if factor else Form.of(constant)


def _product(left: Form, right: Form) -> Form | None:
    if not left.atoms or not right.atoms:
        form, number = (left, right.constant) if left.atoms else (right, left.constant)
        return Form(form.factor * number, form.atoms, form.constant * number) if number else Form.of(0)
    if left.constant or right.constant:
        return None
    return Form(left.factor * right.factor, product_of((*left.atoms, *right.atoms)), 0)


class Bounds(NamedTuple):
    """What is known of a number: at least `low`, at most `high` (None: nothing)."""

    low: int | None = None
    high: int | None = None

    def within(self, other: Bounds) -> Bounds:
        """Both together."""
        (low, high), (also_low, also_high) = self, other
        if low is None or (also_low is not None and also_low > low):
            low = also_low
        if high is None or (also_high is not None and also_high < high):
            high = also_high
        return Bounds(low, high)


def bounds_of_result(sign: str, left: Bounds, right: Bounds) -> Bounds:
    """What the bounds of integers tell of left sign right."""
    if sign == "+":
        return Bounds(None if left.low is None or right.low is None else left.low + right.low,
                      None if left.high is None or right.high is None else left.high + right.high)
    if right.low is None or right.low < 1:
        return Bounds()
    if sign == "%":
        return Bounds(0, None if right.high is None else right.high - 1)
    if sign == "//" and left.low is not None and left.low >= 0:
        return Bounds(0 if right.high is None else left.low // right.high,
                      None if left.high is None else left.high // right.low)
    return Bounds()
