"""What a network keeps tensors in."""
from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape
from clinfer.network.memory.preallocation import EXACT, LIKELY_PIECE, Preallocation
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Memory


class Given(NamedTuple):
    """A tensor that is given to a network: planar memory of a shape, and the same data on the host if at hand."""

    memory: Memory
    shape: StaticShape
    host_value: np.ndarray | None = None


class GrowingBuffer:
    """Memory that is made anew where more is needed, with room ahead for sizes that grow; what it held is lost then.

    `what` names it in errors. `held`, `nbytes`: the memory that there is at present, and how much it is.
    """

    def __init__(self, engine: Engine, what: str, preallocation: Preallocation = EXACT) -> None:
        self._engine = engine
        self._what = what
        self._preallocation = preallocation
        self._sizes: deque[int] = deque(maxlen=3)
        self.held: Memory | None = None
        self.nbytes = 0

    def fit(self, nbytes: int) -> Memory:
        """The memory, at least that large."""
        if not self._sizes or self._sizes[-1] != nbytes:
            self._sizes.append(nbytes)
        held = self.held
        if held is None or held.capacity < nbytes:
            if held is not None:
                self.held, self.nbytes = None, 0
                held.release()
            held = self.held = self._allocated(nbytes)
            self.nbytes = held.capacity
        return held

    def holds(self, nbytes: int) -> bool:
        """Whether `fit` changes nothing."""
        return self.held is not None and nbytes <= self.held.capacity

    def prepare(self) -> None:
        """Have memory for likely sizes, where nothing was needed yet."""
        likely = min(self._preallocation.room, LIKELY_PIECE)
        if likely and self.held is None:
            with suppress(ClinferError):
                self.held = self._engine.allocate_bytes(likely, what=self._what)
                self.nbytes = self.held.capacity

    def _allocated(self, nbytes: int) -> Memory:
        ahead = self._preallocation.expected(tuple(self._sizes))
        if ahead > nbytes:
            # Room ahead of need is no reason to fail.
            with suppress(ClinferError):
                return self._engine.allocate_bytes(ahead, what=self._what)
        return self._engine.allocate_bytes(nbytes, what=self._what)

    def release(self) -> None:
        """Give the memory back."""
        held, self.held, self.nbytes = self.held, None, 0
        self._sizes.clear()
        if held is not None:
            held.release()


class OfferedMemory(GrowingBuffer):
    """Memory of the caller's where it is large enough, else memory of its own."""

    def __init__(self, offered: Memory) -> None:
        super().__init__(offered.engine, "an output")
        self.offered = offered

    def fit(self, nbytes: int) -> Memory:
        """See GrowingBuffer."""
        return self.offered if nbytes <= self.offered.capacity else super().fit(nbytes)

    def holds(self, nbytes: int) -> bool:
        """See GrowingBuffer."""
        return nbytes <= self.offered.capacity or super().holds(nbytes)
