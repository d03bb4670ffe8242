"""Memory of states that keeps what it holds when it grows."""
from __future__ import annotations

from contextlib import suppress

from clinfer.base.errors import ClinferError
from clinfer.network.memory.buffers import GrowingBuffer
from clinfer.network.memory.preallocation import EXACT
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Memory
from clinfer.runtime.stream import Stream


class StateBuffer(GrowingBuffer):
    """Memory whose first `kept` bytes stay when it grows, in the queue of `stream`; its former lives until `settle`."""

    def __init__(self, engine: Engine, what: str, ahead: float) -> None:
        super().__init__(engine, what, EXACT)
        self._ahead = ahead
        self._left: list[Memory] = []
        self.kept = 0
        self.stream: Stream | None = None

    def fit(self, nbytes: int) -> Memory:
        """The memory, at least that large."""
        held = self._memory
        if held is not None and held.capacity >= nbytes:
            return held
        made = self._made(nbytes)
        if held is not None and self.kept:
            assert self.stream is not None
            self.stream.copy(held, made, self.kept)
        self._memory, self.nbytes = made, made.capacity
        if held is not None:
            self._left.append(held)
        return made

    def settle(self) -> None:
        """Give back memory that was left behind."""
        while self._left:
            self._left.pop().release()

    def release(self) -> None:
        """Give everything back."""
        self.settle()
        self.kept = 0
        super().release()

    def _made(self, nbytes: int) -> Memory:
        if self._ahead:
            # Room ahead of need is no reason to fail.
            with suppress(ClinferError):
                return self._engine.allocate_bytes(max(int(nbytes * (1 + self._ahead)), 1), what=self._what)
        return self._engine.allocate_bytes(max(nbytes, 1), what=self._what)
