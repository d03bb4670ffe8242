"""Memory of states that keeps what it holds when it grows."""
from __future__ import annotations

from contextlib import suppress

from clinfer.base.errors import ClinferError
from clinfer.network.memory.buffers import GrowingBuffer
from clinfer.network.memory.preallocation import EXACT
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Memory
from clinfer.runtime.stream import Stream


class Moves:
    """What buffers of one request share: the queue in which what they hold is copied when they grow, and the memory
    that they leave behind then, which lives until `settle`."""

    def __init__(self) -> None:
        self.stream: Stream | None = None
        self.left: list[Memory] = []

    def begin(self, stream: Stream) -> None:
        """From now on copy in this queue; what was left behind is given back."""
        self.settle()
        self.stream = stream

    def settle(self) -> None:
        """Give back memory that was left behind."""
        while self.left:
            self.left.pop().release()


class StateBuffer(GrowingBuffer):
    """Memory whose first `kept` bytes stay when it grows."""

    def __init__(self, engine: Engine, what: str, ahead: float, moves: Moves) -> None:
        super().__init__(engine, what, EXACT)
        self._ahead = ahead
        self._moves = moves
        self.kept = 0

    def fit(self, nbytes: int) -> Memory:
        """The memory, at least that large."""
        held = self.held
        if held is not None and held.capacity >= nbytes:
            return held
        made = self._made(nbytes)
        if held is not None and self.kept:
            assert self._moves.stream is not None
            self._moves.stream.copy(held, made, self.kept)
        self.held, self.nbytes = made, made.capacity
        if held is not None:
            self._moves.left.append(held)
        return made

    def _made(self, nbytes: int) -> Memory:
        if self._ahead:
            # Room ahead of need is no reason to fail.
            with suppress(ClinferError):
                return self._engine.allocate_bytes(max(int(nbytes * (1 + self._ahead)), 1), what=self._what)
        return self._engine.allocate_bytes(max(nbytes, 1), what=self._what)
