"""How much memory to take where more is needed: ahead of need when sizes grow."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Preallocation:
    """What is expected of sizes that grow.

    Growth by the same number of bytes twice in a row makes room for a quarter of the size more, and for at least
    `iterations` more steps where they have at most `largest_step` bytes. Any other growth makes `ratio` times the size.
    `iterations` 0 and `ratio` 1 switch it off.
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
        step = self.steady_step(sizes)
        if step:
            return now + max(self.iterations * step if step <= self.largest_step else 0, now // 4)
        return int(now * self.ratio)

    def steady_step(self, sizes: Sequence[int]) -> int:
        """The bytes by which the last three sizes grew each time; 0 if they did not, or it is switched off."""
        steps = [after - before for before, after in zip(sizes[-3:], sizes[-2:], strict=False)]
        return steps[0] if self.iterations and len(steps) == 2 and steps[0] == steps[1] > 0 else 0


AHEAD = Preallocation()
EXACT = Preallocation(iterations=0, ratio=1.0)
"""Never more than is needed."""
