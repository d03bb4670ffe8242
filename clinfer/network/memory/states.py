"""Variable states of one request: memory on the device that outlives inferences and belongs to no pool.

An inference never changes what a state holds: it writes behind it (states that grow), or to other memory. `commit`,
when the inference was a success, makes what was written the state. So after an error, or cancelled, all is as before.
Rows that an inference selects stay where they are if it reads them by a table (`row_tables.py`).
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from clinfer.base.byte_rows import decode_rows, encode_rows
from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape, admits, show
from clinfer.network.memory.buffers import Given, GrowingBuffer
from clinfer.network.memory.row_tables import TableMemory, is_same, places
from clinfer.network.memory.state_buffer import StateBuffer
from clinfer.network.output import NetworkOutput
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Memory
from clinfer.runtime.stream import Stream
from clinfer.topology import State

_LEAST_AHEAD, _MOST_AHEAD = 0.125, 0.25
"""Shares of their size that states which grow get beside it; each another, so that they move at different times."""

_F32 = ElementType.of("f32")

FirstValues = Callable[[], Mapping[str, NetworkOutput]]
"""The values of states after a reset, by the outputs of the program that makes them."""


@dataclass(frozen=True)
class Reading:
    """What one inference reads of a state, and the buffer, with its number, in which the next value will lie; None: the
    value stays. `table`: where rows of what is read lie."""

    given: Given
    buffer: int
    target: StateBuffer | None
    table: np.ndarray | None


@dataclass(frozen=True)
class Value:
    """What a state is: in which of its two buffers it lies, in which shape, as it is stored; None after a reset.
    `table`: where its rows lie, see `row_tables.py`."""

    shape: StaticShape | None = None
    buffer: int = 0
    table: np.ndarray | None = None


class StateMemory:
    """The memory of one variable, in which its value lies."""

    def __init__(self, engine: Engine, declared: State, ahead: float) -> None:
        self.declared = declared
        what = f"state {declared.variable}"
        self._buffers = tuple(StateBuffer(engine, what, ahead if declared.grows else 0.0) for _ in range(2))

    @property
    def nbytes(self) -> int:
        """Bytes of device memory held."""
        return sum(buffer.nbytes for buffer in self._buffers)

    def read(self, stream: Stream, value: Value) -> np.ndarray:
        """The storage units of a value (blocking); zeros after a reset."""
        shape = self.declared.stored(self.declared.blank) if value.shape is None else value.shape
        units = np.zeros(shape, self.declared.stored_type.storage)
        if value.shape is not None and units.size:
            stream.read(self._buffers[value.buffer].fit(units.nbytes), units.reshape(-1).view(np.uint8))
        return units if value.table is None else units[np.arange(shape[0])[:, None], places(value.table, *shape[:2])]

    def write(self, stream: Stream, value: Value, shape: StaticShape, put: Callable[[Memory], None]) -> Value:
        """The value that `put` writes (blocking), beside another one. `shape`: as it is stored."""
        other = self._buffers[1 - value.buffer]
        other.settle()
        other.kept, other.stream = 0, stream
        put(other.fit(self._bytes(shape)))
        stream.finish()
        return Value(shape, 1 - value.buffer)

    # -- one inference --------------------------------------------------------------------------

    def begin(self, stream: Stream, value: Value, first: FirstValues) -> Value:
        """What an inference begins with: the value, after a reset the first one."""
        for buffer in self._buffers:
            buffer.settle()
            buffer.stream = stream
        if value.shape is not None:
            return value
        return Value(self._take_first(stream, self._buffers[value.buffer], first), value.buffer)

    def chosen(self, value: Value, selected: np.ndarray) -> np.ndarray:
        """The stored rows that are selected, counted from 0. ClinferError for those that there are not."""
        assert value.shape is not None
        count = value.shape[1]
        if selected.size and not -count <= selected.min() <= selected.max() < count:
            raise ClinferError(f"{self.declared.selected_by!r} selects entries that state {self.declared.variable!r} "
                               "does not have", where="states",
                               values={"entries": count, "selected": np.array2string(selected, threshold=16)})
        return selected % count

    def select(self, stream: Stream, value: Value, selected: np.ndarray) -> Value:
        """The rows of a value that are selected, in the other buffer unless they are all, in their order."""
        assert value.shape is not None
        length, count, *others = value.shape
        made, unit = (length, len(selected), *others), self._bytes(tuple(others))
        if not length * count * unit:
            return Value(made, value.buffer)
        rows = self.chosen(value, selected)
        if value.table is None and np.array_equal(rows, np.arange(count)):
            return value
        other = self._buffers[1 - value.buffer]
        other.kept = 0
        source, target = self._buffers[value.buffer].fit(self._bytes(value.shape)), other.fit(self._bytes(made))
        for row, where in enumerate(places(value.table, length, count).T[rows]):
            turns = np.flatnonzero(np.diff(where, prepend=-1)).tolist()
            for start, end in pairwise([*turns, length]):
                stream.copy_rows(source, target, end - start, unit, source_pitch=count * unit,
                                 target_pitch=len(rows) * unit,
                                 source_offset=(start * count + int(where[start])) * unit,
                                 target_offset=(start * len(rows) + row) * unit)
        return Value(made, 1 - value.buffer)

    def give(self, value: Value) -> Reading:
        """What an inference reads."""
        shape, place = value.shape, value.buffer
        assert shape is not None
        source = self._buffers[place]
        source.kept = self._bytes(shape)
        memory, target = source.fit(source.kept), place if self.declared.grows else 1 - place
        if not self.declared.output:
            return Reading(Given(memory, shape), place, None, value.table)
        if not self.declared.grows:
            self._buffers[target].kept = 0
        return Reading(Given(memory, shape), target, self._buffers[target], value.table)

    def take(self, stream: Stream, read: Reading, output: NetworkOutput | None) -> Value:
        """What an inference made of what it read. Errors: ClinferError for a size beyond what is declared."""
        if output is None or read.target is None:
            return Value(read.given.shape, read.buffer, read.table)
        shape = output.layout.static_shape
        logical = self.declared.logical(shape)
        if not admits(self.declared.shape, logical):
            raise ClinferError(f"state {self.declared.variable!r} would have a shape outside what the model declares",
                               where="states", values={"declared": show(self.declared.shape), "next": show(logical)},
                               hint="reset the states, or compile the model with larger bounds")
        nbytes = self._bytes(shape)
        target = read.target.fit(nbytes)
        if output.memory is not target:
            stream.copy(output.memory, target, nbytes)
        return Value(shape, read.buffer, read.table)

    # -- helpers --------------------------------------------------------------------------------

    def _bytes(self, shape: StaticShape) -> int:
        return self.declared.stored_type.byte_size(math.prod(shape))

    def _take_first(self, stream: Stream, buffer: StateBuffer, first: FirstValues) -> StaticShape:
        """Put the first value into a buffer that holds nothing; its shape."""
        buffer.kept = 0
        if not self.declared.initial:
            shape = self.declared.stored(self.declared.blank)
            if nbytes := self._bytes(shape):
                stream.fill(buffer.fit(nbytes), 0, nbytes)
            return shape
        output = first()[self.declared.initial]
        logical = output.layout.static_shape
        if not admits(self.declared.shape, logical):
            raise ClinferError(f"the first value of state {self.declared.variable!r} has a shape outside what the "
                               "model declares", where="states",
                               values={"declared": show(self.declared.shape), "first value": show(logical)})
        shape = self.declared.stored(logical)
        nbytes = self._bytes(shape)
        if nbytes and self.declared.order:
            units = as_stored(self.declared, _units(output, stream).reshape(logical), output.layout.element_type)
            stream.write(buffer.fit(nbytes), units.reshape(-1), blocking=True)
        elif nbytes:
            stream.copy(output.memory, buffer.fit(nbytes), nbytes)
        return shape


class RequestStates:
    """All states of a request, by their variables. One thread at a time.

    What they are is one dictionary, so that they all change together, also where an interrupt comes.
    """

    def __init__(self, engine: Engine, declared: Sequence[State]) -> None:
        count = max(len(declared) - 1, 1)
        self._memories = {state.variable: StateMemory(
            engine, state, _LEAST_AHEAD + (_MOST_AHEAD - _LEAST_AHEAD) * number / count)
            for number, state in enumerate(declared)}
        self._selected: dict[tuple[str, str], list[str]] = {}
        for state in declared:
            if state.selected_by:
                self._selected.setdefault((state.selected_by, state.table), []).append(state.variable)
        self._tables = {table: TableMemory(engine, table) for _, table in self._selected if table}
        self._values = {name: Value() for name in self._memories}
        self._read: dict[str, Reading] = {}
        self._next: dict[str, Value] | None = None

    @property
    def declared(self) -> tuple[State, ...]:
        """What the model declares of them, in its order."""
        return tuple(memory.declared for memory in self._memories.values())

    @property
    def nbytes(self) -> int:
        """Bytes of device memory held."""
        return sum(memory.nbytes for held in (self._memories, self._tables) for memory in held.values())

    def read(self, variable: str, stream: Stream) -> np.ndarray:
        """The storage units of a value, as it is stored (blocking); zeros after a reset."""
        return self._memories[variable].read(stream, self._values[variable])

    def write(self, variable: str, stream: Stream, shape: StaticShape, put: Callable[[Memory], None]) -> None:
        """Let a value be what `put` writes; as it was if that fails. `shape`: as it is stored."""
        written = self._memories[variable].write(stream, self._values[variable], shape, put)
        self._values = {**self._values, variable: written}

    def reset(self, variable: str | None = None) -> None:
        """Forget a value, or all; the memory stays for the next ones."""
        self._values = {name: Value(buffer=value.buffer) if variable in (None, name) else value
                        for name, value in self._values.items()}

    def shorten(self, variable: str, length: int) -> None:
        """Let a value that grows be its first `length` entries, which moves nothing. ClinferError where it does not
        grow, or has fewer."""
        value, declared = self._values[variable], self._memories[variable].declared
        shape = declared.stored(declared.blank) if value.shape is None else value.shape
        if not declared.grows:
            raise ClinferError(f"state {variable!r} does not grow by what each inference puts behind it",
                               where="states", hint="save and set its value instead")
        if not 0 <= length <= shape[0] or not admits(declared.shape, declared.logical((length, *shape[1:]))):
            raise ClinferError(f"state {variable!r} cannot be shortened to that length", where="states",
                               values={"length": shape[0], "wanted": length, "declared": show(declared.shape)})
        if value.shape is not None:
            table = None if value.table is None else value.table[:length]
            self._values = {**self._values, variable: replace(value, shape=(length, *shape[1:]), table=table)}

    def give(self, stream: Stream, first: FirstValues, selected: Callable[[str], np.ndarray]) -> dict[str, Given]:
        """What an inference reads, by inputs. `selected(input)`: the value of an input that selects entries."""
        self._next = None
        self._check_reset()
        self._read = {}
        values = {name: memory.begin(stream, self._values[name], first) for name, memory in self._memories.items()}
        for (by, table), names in self._selected.items():
            values |= self._select(stream, {name: values[name] for name in names}, selected(by), bool(table))
        self._read = {name: memory.give(values[name]) for name, memory in self._memories.items()}
        self._check_sizes()
        given = {self._memories[name].declared.input: read.given for name, read in self._read.items()}
        for (_, table), names in self._selected.items():
            if table:
                read = self._read[names[0]]
                given[table] = self._tables[table].give(stream, read.table, read.given.shape[1])
        return given

    def targets(self) -> dict[str, GrowingBuffer]:
        """Where an inference writes next values, by outputs."""
        return {self._memories[name].declared.output: read.target for name, read in self._read.items()
                if read.target is not None}

    def take(self, stream: Stream, outputs: Mapping[str, NetworkOutput]) -> None:
        """Note what an inference made, by outputs."""
        self._next = {name: memory.take(stream, self._read[name], outputs.get(memory.declared.output))
                      for name, memory in self._memories.items()}

    def commit(self) -> None:
        """The inference was a success: let the states be what it made."""
        if self._next is not None:
            self._values, self._next = self._next, None

    def _select(self, stream: Stream, values: Mapping[str, Value], selected: np.ndarray,
                by_table: bool) -> dict[str, Value]:
        """Values of which an input selects rows, with these. What is read `by_table` stays where it is if all lie
        alike, and as many rows are selected as there are."""
        name, one = next(iter(values.items()))
        assert one.shape is not None
        length, count = one.shape[:2]
        if not (by_table and length and len(selected) == count and all(
                value.shape is not None and value.shape[:2] == (length, count) and is_same(value.table, one.table)
                for value in values.values())):
            return {name: self._memories[name].select(stream, value, selected) for name, value in values.items()}
        rows, table = self._memories[name].chosen(one, selected), one.table
        if not np.array_equal(rows, np.arange(count)):
            table = np.ascontiguousarray(places(table, length, count)[:, rows])
        return {name: value if value.table is table else replace(value, table=table) for name, value in values.items()}

    def _check_reset(self) -> None:
        """Raise if a state begins anew with the first value of another one that goes on."""
        for name, memory in self._memories.items():
            others = [other for other in memory.declared.begins_with
                      if self._values[name].shape is None and self._values[other].shape is not None]
            if others:
                raise ClinferError("a state was reset, but not those with which it begins", where="states",
                                   values={"reset": name, "begins with": ", ".join(others)}, hint="reset all of them")

    def _check_sizes(self) -> None:
        """Raise unless sizes of one name, of which the program takes this for granted, are equal."""
        sizes: dict[str, tuple[str, int]] = {}
        for name, memory in self._memories.items():
            for size_name, size in zip(memory.declared.sizes, self._read[name].given.shape, strict=False):
                other, known = sizes.setdefault(size_name, (name, size)) if size_name else (name, size)
                if known != size:
                    raise ClinferError("states that grow together have different lengths", where="states",
                                       values={f"length of {other!r}": known, f"length of {name!r}": size},
                                       hint="set all of them, or none")


def as_stored(declared: State, units: np.ndarray, kind: ElementType) -> np.ndarray:
    """What the request stores of a value: of its storage units of type `kind`, in the shape that the model declares."""
    ordered = units.transpose(declared.order) if declared.order else units
    if declared.is_in_byte_rows:
        return encode_rows(kind.decode(ordered.reshape(-1), ordered.size).reshape(ordered.shape))
    return np.ascontiguousarray(_converted(ordered, kind, declared.stored_type))


def as_declared(declared: State, units: np.ndarray) -> np.ndarray:
    """The reverse, in the type that the model declares."""
    if declared.is_in_byte_rows:
        units = _converted(decode_rows(units), _F32, declared.element_type)
    else:
        units = _converted(units, declared.stored_type, declared.element_type)
    return np.ascontiguousarray(units.transpose(np.argsort(declared.order)) if declared.order else units)


def _converted(units: np.ndarray, given: ElementType, wanted: ElementType) -> np.ndarray:
    """Storage units of one type as those of another one that are not packed, in the same shape."""
    if given == wanted:
        return units
    return wanted.encode(given.decode(units.reshape(-1), units.size)).reshape(units.shape)


def _units(output: NetworkOutput, stream: Stream) -> np.ndarray:
    """The storage units of a dense tensor (blocking)."""
    units = np.empty(output.layout.byte_size, np.uint8)
    stream.read(output.memory, units)
    return units.view(output.layout.element_type.storage)
