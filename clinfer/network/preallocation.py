"""How much memory to take where more is needed: ahead of need when sizes grow."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Preallocation:
    """What is expected of sizes that grow.

    Growth by the same number of bytes twice in a row, at most `largest_step` of them, makes room for `iterations`
    more of it. Any other growth makes `ratio` times the size. `iterations` 0 and `ratio` 1 switch it off.
    """

    iterations: int = 10
    ratio: float = 1.1
    largest_step: int = 16 * 1024

    def expected(self, sizes: Sequence[int]) -> int:
        """The bytes to allocate for the last of these sizes, which followed one another; no more than it needs
        unless it is the largest of several."""
        now = sizes[-1]
        if len(sizes) < 2 or now <= max(sizes[:-1]):
            return now
        steps = [after - before for before, after in zip(sizes[-3:], sizes[-2:], strict=False)]
        if self.iterations and len(steps) == 2 and steps[0] == steps[1] and 0 < steps[0] <= self.largest_step:
            return now + self.iterations * steps[0]
        return int(now * self.ratio)


AHEAD = Preallocation()
EXACT = Preallocation(iterations=0, ratio=1.0)
"""Never more than is needed."""
