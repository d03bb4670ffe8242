"""How much memory to take where more is needed: ahead of need when sizes grow."""
from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clinfer.network.memory.slot_bytes import Needs, rows_of

RECENT = 3
"""Sizes that followed one another and tell how they grow."""


@dataclass(frozen=True)
class Preallocation:
    """What is expected of sizes that grow.

    Growth by the same number of bytes twice in a row makes room for a quarter of the size more, and for at least
    `iterations` more steps where they have at most `largest_step` bytes. Any other growth makes `ratio` times the size.
    `iterations` 0 and `ratio` 1 switch it off. What is made ready before the first execution has room for likely sizes,
    of at most `room` bytes. A pool of at most `kept` bytes keeps all sizes that were once needed.
    """

    iterations: int = 10
    ratio: float = 1.1
    largest_step: int = 16 * 1024
    room: int = 0
    kept: int = 0

    def expected(self, sizes: Sequence[int]) -> int:
        """`expected_of_each` for the last of these sizes, which followed one another."""
        recent = (*(-1,) * RECENT, *sizes)[-RECENT:]
        return int(self.expected_of_each(np.array(recent, np.int64)))

    def expected_of_each(self, recent: np.ndarray) -> np.ndarray:
        """The bytes to allocate for the last row of `recent`, sizes that followed one another (-1: none yet); no more
        than it needs unless it is the largest of several."""
        *_, before, now = recent
        steps = self.steady_steps(recent)
        several = np.where(steps <= self.largest_step, self.iterations * steps, 0)
        ahead = np.where(steps > 0, now + np.maximum(several, now // 4), (now * self.ratio).astype(np.int64))
        return np.where((before >= 0) & (now > recent[:-1].max(axis=0)), ahead, now)

    def steady_steps(self, recent: np.ndarray) -> np.ndarray:
        """The bytes by which the rows of `recent` grew each time; 0 where they did not, or it is switched off."""
        first, second, third = recent
        is_steady = (first >= 0) & (third - second == second - first) & (third > second)
        return np.where(is_steady, third - second, 0) if self.iterations else np.zeros_like(third)

    def in_place_of(self, nbytes: int) -> int:
        """The least bytes to allocate where so many were not enough."""
        return int(nbytes * self.ratio)


class SizeHistory:
    """What was lately needed of each of some slots."""

    def __init__(self, slots: int, executions: int) -> None:
        """`executions`: how many of them count."""
        self._slots = slots
        self._new: deque[Needs] = deque(maxlen=executions)
        self._rows: deque[np.ndarray] = deque(maxlen=executions)

    def add(self, needs: Needs) -> None:
        """An execution needs so much: (slot, bytes)."""
        self._new.append(needs)

    def recent(self) -> np.ndarray:
        """The last sizes of each slot as `RECENT` rows, the latest in the last; -1: none."""
        while self._new:
            self._rows.append(sizes_of(self._new.popleft(), self._slots))
        found = np.full((RECENT, self._slots), -1, np.int64)
        if self._rows:
            backwards = np.stack(self._rows)[::-1]
            counts = np.cumsum(backwards >= 0, axis=0)
            for number in range(RECENT):
                sizes = backwards[(counts > number).argmax(axis=0), np.arange(self._slots)]
                found[-1 - number] = np.where(counts[-1] > number, sizes, -1)
        return found

    def clear(self) -> None:
        """Forget all."""
        self._new.clear()
        self._rows.clear()


def sizes_of(needs: Needs, slots: int) -> np.ndarray:
    """The bytes of each slot; -1 where none are needed. Of a slot that is named several times the last counts."""
    row = np.full(slots, -1, np.int64)
    numbers, sizes = rows_of(needs)
    row[list(numbers)] = sizes
    return row


AHEAD = Preallocation()
LIKELY_PIECE = 2**20
"""Room for a tensor of likely sizes that has memory of its own."""
LIKELY_BYTES = 512 * 2**20
"""Room for likely sizes at most, where memory that nobody wrote to costs nothing."""
EXACT = Preallocation(iterations=0, ratio=1.0)
"""Never more than is needed."""
