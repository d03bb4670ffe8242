"""Which shapes come next where sizes change by as much each time, as a text's length does from token to token."""
from __future__ import annotations

from collections.abc import Sequence
from operator import add, sub

from clinfer.base.shape import StaticShape

Shapes = Sequence[StaticShape]


class Foresight:
    """Sees shapes one after the other. Once two steps were the same it takes the next one for the same again."""

    def __init__(self) -> None:
        self._last: Shapes = ()
        self._steps: Shapes = ()

    def next(self, shapes: Shapes) -> tuple[StaticShape, ...] | None:
        """What comes behind these shapes; None where that is not known, or they stay."""
        last, before, self._last, self._steps = self._last, self._steps, shapes, ()
        if [*map(len, last)] != [*map(len, shapes)]:
            return None
        steps = self._steps = [tuple(map(sub, now, then)) for now, then in zip(shapes, last, strict=True)]
        if steps != before or not any(map(any, steps)):
            return None
        following = tuple([tuple(map(add, now, step)) for now, step in zip(shapes, steps, strict=True)])
        return following if min(map(min, filter(None, following))) >= 0 else None
