"""Where the rows of a batch lie in caches that stay in place when rows are selected.

A table [T, rows] (i32) says of the first T positions in which stored row each row lies there; behind them rows lie in
their own. None: all do. A table is never changed.
"""
from __future__ import annotations

import numpy as np

from clinfer.network.memory.buffers import Given
from clinfer.network.memory.state_buffer import Moves, StateBuffer
from clinfer.runtime.engine import Engine
from clinfer.runtime.stream import Stream

_AHEAD = 0.25


def places(table: np.ndarray | None, length: int, rows: int) -> np.ndarray:
    """[length, rows]: in which stored row each row lies, position by position."""
    own = np.broadcast_to(np.arange(rows, dtype=np.int32), (length, rows))
    return own if table is None else np.concatenate([table, own[len(table):]])


def is_same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    """Whether two tables say the same."""
    return one is other or (one is not None and other is not None and np.array_equal(one, other))


class TableMemory:
    """The memory of one table, as inferences read it."""

    def __init__(self, engine: Engine, name: str) -> None:
        self._moves = Moves()
        self._buffer = StateBuffer(engine, name, _AHEAD, self._moves)
        self._held: np.ndarray | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of device memory held."""
        return self._buffer.nbytes

    def give(self, stream: Stream, table: np.ndarray | None, rows: int) -> Given:
        """What an inference reads."""
        self._moves.settle()
        if table is None:
            return Given(self._buffer.fit(1), (0, rows))
        memory = self._buffer.fit(table.nbytes)
        if table is not self._held:
            self._held = None
            stream.write(memory, table)
            self._held = table
        return Given(memory, table.shape)
