"""The memory of one variable state, and what an inference does with it."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape, admits, show
from clinfer.network.memory.row_tables import places
from clinfer.network.memory.state_buffer import Moves, StateBuffer
from clinfer.network.memory.stored_values import as_stored
from clinfer.network.output import NetworkOutput
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Memory
from clinfer.runtime.stream import Stream
from clinfer.topology import State

FirstValues = Callable[[], Mapping[str, NetworkOutput]]
"""The values of states after a reset, by the outputs of the program that makes them."""


@dataclass(frozen=True, eq=False)
class Value:
    """What a state is: in which of its two buffers it lies, in which shape, as it is stored; None after a reset.
    `table`: where its rows lie, see `row_tables.py`. States of which all that is the same may share one."""

    shape: StaticShape | None = None
    buffer: int = 0
    table: np.ndarray | None = None


class StateMemory:
    """The memory of one variable, in which its value lies: `buffers`, the second of which is there once it is needed.
    `moves` is common to those of a request."""

    def __init__(self, engine: Engine, declared: State, ahead: float, moves: Moves) -> None:
        self.declared = declared
        self._moves = moves
        what = f"state {declared.variable}"
        self.buffers = tuple(StateBuffer(engine, what, ahead if declared.grows else 0.0, moves) for _ in range(2))

    @property
    def nbytes(self) -> int:
        """Bytes of device memory held."""
        return sum(buffer.nbytes for buffer in self.buffers)

    def read(self, stream: Stream, value: Value) -> np.ndarray:
        """The storage units of a value (blocking); zeros after a reset."""
        shape = self.declared.stored(self.declared.blank) if value.shape is None else value.shape
        units = np.zeros(shape, self.declared.stored_type.storage)
        if value.shape is not None and units.size:
            stream.read(self.buffers[value.buffer].fit(units.nbytes), units.reshape(-1).view(np.uint8))
        return units if value.table is None else units[np.arange(shape[0])[:, None], places(value.table, *shape[:2])]

    def write(self, stream: Stream, value: Value, shape: StaticShape, put: Callable[[Memory], None]) -> Value:
        """The value that `put` writes (blocking), beside another one. `shape`: as it is stored."""
        other = self.buffers[1 - value.buffer]
        self._moves.begin(stream)
        other.kept = 0
        put(other.fit(stored_bytes(self.declared, shape)))
        stream.finish()
        return Value(shape, 1 - value.buffer)

    def first(self, stream: Stream, value: Value, first: FirstValues) -> Value:
        """What an inference begins with after a reset."""
        return Value(self._take_first(stream, self.buffers[value.buffer], first), value.buffer)

    def select(self, stream: Stream, value: Value, selected: np.ndarray) -> Value:
        """The rows of a value that are selected, in the other buffer unless they are all, in their order."""
        assert value.shape is not None
        length, count, *others = value.shape
        made, unit = (length, len(selected), *others), stored_bytes(self.declared, tuple(others))
        if not length * count * unit:
            return Value(made, value.buffer)
        rows = chosen(self.declared, value, selected)
        if value.table is None and np.array_equal(rows, np.arange(count)):
            return value
        other = self.buffers[1 - value.buffer]
        other.kept = 0
        source = self.buffers[value.buffer].fit(stored_bytes(self.declared, value.shape))
        target = other.fit(stored_bytes(self.declared, made))
        for row, where in enumerate(places(value.table, length, count).T[rows]):
            turns = np.flatnonzero(np.diff(where, prepend=-1)).tolist()
            for start, end in pairwise([*turns, length]):
                stream.copy_rows(source, target, end - start, unit, source_pitch=count * unit,
                                 target_pitch=len(rows) * unit,
                                 source_offset=(start * count + int(where[start])) * unit,
                                 target_offset=(start * len(rows) + row) * unit)
        return Value(made, 1 - value.buffer)

    def _take_first(self, stream: Stream, buffer: StateBuffer, first: FirstValues) -> StaticShape:
        """Put the first value into a buffer that holds nothing; its shape."""
        buffer.kept = 0
        if not self.declared.initial:
            shape = self.declared.stored(self.declared.blank)
            if nbytes := stored_bytes(self.declared, shape):
                stream.fill(buffer.fit(nbytes), 0, nbytes)
            return shape
        output = first()[self.declared.initial]
        logical = output.layout.static_shape
        if not admits(self.declared.shape, logical):
            raise ClinferError(f"the first value of state {self.declared.variable!r} has a shape outside what the "
                               "model declares", where="states",
                               values={"declared": show(self.declared.shape), "first value": show(logical)})
        shape = self.declared.stored(logical)
        nbytes = stored_bytes(self.declared, shape)
        if nbytes and self.declared.order:
            units = as_stored(self.declared, _units(output, stream).reshape(logical), output.layout.element_type)
            stream.write(buffer.fit(nbytes), units.reshape(-1), blocking=True)
        elif nbytes:
            stream.copy(output.memory, buffer.fit(nbytes), nbytes)
        return shape


def stored_bytes(declared: State, shape: StaticShape) -> int:
    """Bytes of a value. `shape`: as it is stored."""
    return declared.stored_type.byte_size(math.prod(shape))


def check_next(declared: State, shape: StaticShape) -> None:
    """Raise where a value, as it is stored, would have a size beyond what is declared."""
    logical = declared.logical(shape)
    if not admits(declared.shape, logical):
        raise ClinferError(f"state {declared.variable!r} would have a shape outside what the model declares",
                           where="states", values={"declared": show(declared.shape), "next": show(logical)},
                           hint="reset the states, or compile the model with larger bounds")


def chosen(declared: State, value: Value, selected: np.ndarray) -> np.ndarray:
    """The stored rows that are selected, counted from 0. ClinferError for those that there are not."""
    assert value.shape is not None
    count = value.shape[1]
    if selected.size and not -count <= selected.min() <= selected.max() < count:
        raise ClinferError(f"{declared.selected_by!r} selects entries that state {declared.variable!r} does not have",
                           where="states",
                           values={"entries": count, "selected": np.array2string(selected, threshold=16)})
    return selected % count


def _units(output: NetworkOutput, stream: Stream) -> np.ndarray:
    """The storage units of a dense tensor (blocking)."""
    units = np.empty(output.layout.byte_size, np.uint8)
    stream.read(output.memory, units)
    return units.view(output.layout.element_type.storage)
