"""What a trace knows of the integers on it: their form, and bounds."""
from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Form(NamedTuple):
    """factor * product(atoms) + constant; atoms are sorted names, at least one, and the factor is not 0."""

    factor: int
    atoms: tuple[str, ...]
    constant: int

    def negated(self) -> Form:
        return Form(-self.factor, self.atoms, -self.constant)

    def plus(self, number: int) -> Form:
        return Form(self.factor, self.atoms, self.constant + number)


@dataclass(frozen=True)
class Bounds:
    """What is known of a number: at least `low`, at most `high` (None: nothing)."""

    low: int | None = None
    high: int | None = None

    def within(self, other: Bounds) -> Bounds:
        """Both together."""
        lows = [x for x in (self.low, other.low) if x is not None]
        highs = [x for x in (self.high, other.high) if x is not None]
        return Bounds(max(lows, default=None), min(highs, default=None))


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
