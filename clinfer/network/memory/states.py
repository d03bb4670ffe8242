"""Variable states of one request: memory on the device that outlives inferences and belongs to no pool.

An inference never changes what a state holds: it writes behind it (states that grow), or to other memory. `commit`,
when the inference was a success, makes what was written the state. So after an error, or cancelled, all is as before.
Rows that an inference selects stay where they are if it reads them by a table (`row_tables.py`).

Most models have many states that are declared alike and hold values of one shape, as the keys and values of a decoder's
layers do. What follows from that shape is worked out once for all of them.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape, admits, show
from clinfer.network.memory.buffers import Given
from clinfer.network.memory.row_tables import TableMemory, is_same, places
from clinfer.network.memory.state_buffer import Moves, StateBuffer
from clinfer.network.memory.state_memory import FirstValues, StateMemory, Value, check_next, chosen, stored_bytes
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Memory
from clinfer.runtime.stream import Stream
from clinfer.topology import State

_LEAST_AHEAD, _MOST_AHEAD = 0.125, 0.25
"""Shares of their size that states which grow get beside it; each another, so that they move at different times."""


_HELD = attrgetter("held")
Group = tuple[str, str]
"""The input that selects rows of some states, and the one by which the program is given where they lie, if any."""


@dataclass(frozen=True, eq=False)
class Reading:
    """What one inference reads of states that are declared as `declared` is and whose values are as `value`: their
    variables, where they lie, and where the next values will lie, in the buffers of that number (none: they stay)."""

    declared: State
    value: Value
    variables: tuple[str, ...]
    memories: Sequence[Memory]
    targets: Sequence[StateBuffer]
    buffer: int

    @property
    def shape(self) -> StaticShape:
        """The shape of each, as it is stored."""
        assert self.value.shape is not None
        return self.value.shape

    def next_value(self, shape: StaticShape) -> Value:
        """A next value. ClinferError for a size beyond what is declared."""
        check_next(self.declared, shape)
        return Value(shape, self.buffer, self.value.table)


@dataclass(frozen=True, eq=False)
class _Ready:
    """What an inference reads of `values`, where it selects all of so many `rows`, in their order."""

    values: Mapping[str, Value]
    readings: Sequence[Reading]
    rows: Mapping[Group, int]

    def check_sizes(self) -> None:
        """Raise unless sizes of one name, of which the program takes this for granted, are equal."""
        sizes: dict[str, tuple[str, int]] = {}
        for reading in self.readings:
            name = reading.variables[0]
            for size_name, size in zip(reading.declared.sizes, reading.shape, strict=False):
                other, known = sizes.setdefault(size_name, (name, size)) if size_name else (name, size)
                if known != size:
                    raise ClinferError("states that grow together have different lengths", where="states",
                                       values={f"length of {other!r}": known, f"length of {name!r}": size},
                                       hint="set all of them, or none")


_NOTHING = _Ready({}, (), {})


class RequestStates:
    """All states of a request, by their variables. One thread at a time.

    What they are is one dictionary, so that they all change together, also where an interrupt comes.
    """

    def __init__(self, engine: Engine, declared: Sequence[State]) -> None:
        count = max(len(declared) - 1, 1)
        self._moves = Moves()
        self._memories = {state.variable: StateMemory(
            engine, state, _LEAST_AHEAD + (_MOST_AHEAD - _LEAST_AHEAD) * number / count, self._moves)
            for number, state in enumerate(declared)}
        self._selected: dict[Group, list[str]] = {}
        alike: dict[State, list[str]] = {}
        for state in declared:
            if state.selected_by:
                self._selected.setdefault((state.selected_by, state.table), []).append(state.variable)
            alike.setdefault(_without_names(state), []).append(state.variable)
        self._alike = [tuple(names) for names in alike.values()]
        self._buffers: dict[tuple[str, ...], list[tuple[StateBuffer, ...]]] = {}
        self._begin_with = {state.variable: state.begins_with for state in declared if state.begins_with}
        self._tables = {table: TableMemory(engine, table) for _, table in self._selected if table}
        self._values = {name: Value() for name in self._memories}
        self._entered = _NOTHING
        self._ready: _Ready | None = None
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

    # -- one inference --------------------------------------------------------------------------

    def give(self, stream: Stream, first: FirstValues,
             selected: Callable[[str], np.ndarray]) -> tuple[Sequence[Reading], dict[str, Given]]:
        """What an inference reads, and the tables by inputs. `selected(input)`: the value of an input that selects
        entries."""
        ready = self._ready
        if ready is None or not self.enter(ready.readings, stream, selected):
            self._begin(stream)
            self._check_reset()
            values = self._chosen(stream, first, selected)
            ready = self._entered = _Ready(values, self._readings(values), {})
            ready.check_sizes()
        return ready.readings, self._given_tables(stream, ready.values)

    def enter(self, readings: Sequence[Reading], stream: Stream, selected: Callable[[str], np.ndarray]) -> bool:
        """Let an inference read what `foresee` told, as if `give` had; False where it reads something else."""
        ready = self._ready
        if ready is None or ready.readings is not readings or ready.values is not self._values or not all(
                selected(group[0]).tolist() == [*range(rows)] for group, rows in ready.rows.items()):
            return False
        self._begin(stream)
        self._entered = ready
        return True

    def _begin(self, stream: Stream) -> None:
        self._next = self._ready = None
        self._entered = _NOTHING
        self._moves.begin(stream)

    def foresee(self, stream: Stream) -> tuple[Sequence[Reading], dict[str, Given]] | None:
        """What the next inference reads once this one is committed, and the tables by inputs, if it selects all rows;
        None where that is more than to look where they lie. The device may be at work."""
        assert self._next is not None
        with suppress(ClinferError):
            ready = self._ready = self._likely(self._next)
            if ready is not None:
                ready.check_sizes()
                return ready.readings, self._given_tables(stream, ready.values)
        self._ready = None
        return None

    def _chosen(self, stream: Stream, first: FirstValues,
                selected: Callable[[str], np.ndarray]) -> Mapping[str, Value]:
        """The values that an inference reads: first ones after a reset, of the rows that it selects."""
        values, memories = self._values, self._memories
        blank = {name: memories[name].first(stream, value, first) for name, value in values.items()
                 if value.shape is None}
        if blank:
            values = {**values, **blank}
        for (by, table), names in self._selected.items():
            moved = self._select(stream, {name: values[name] for name in names}, selected(by), bool(table))
            if moved:
                values = {**values, **moved}
        return values

    def take(self, stream: Stream, shapes: Mapping[str, StaticShape], lying: Mapping[str, Memory]) -> None:
        """Note what an inference made, by variables: shapes as they are stored, and where that lies. ClinferError for a
        size beyond what is declared."""
        found: dict[str, Value] = {}
        for reading in self._entered.readings:
            if not reading.targets:
                found.update(dict.fromkeys(reading.variables, reading.value))
                continue
            made = [*map(shapes.__getitem__, reading.variables)]
            memories = [*map(lying.__getitem__, reading.variables)]
            values = {shape: reading.next_value(shape) for shape in {*made}}
            if memories != [*map(_HELD, reading.targets)]:
                for shape, memory, target in zip(made, memories, reading.targets, strict=True):
                    if memory is not target.held:
                        nbytes = stored_bytes(reading.declared, shape)
                        stream.copy(memory, target.fit(nbytes), nbytes)
            found.update(zip(reading.variables, map(values.__getitem__, made), strict=True))
        self._next = found

    def commit(self) -> None:
        """The inference was a success: let the states be what it made."""
        if self._next is not None:
            self._values, self._next = self._next, None

    def _likely(self, values: Mapping[str, Value]) -> _Ready | None:
        """What an inference reads of values if it selects all rows; None where that is more than to look where they
        lie."""
        rows: dict[Group, int] = {}
        for group, names in self._selected.items():
            first, *others = {*map(values.__getitem__, names)}
            if first.table is not None or first.shape is None or others:
                return None
            rows[group] = first.shape[1]
        if any(value.shape is None for value in {*values.values()}):
            return None
        return _Ready(values, self._readings(values), rows)

    def _readings(self, values: Mapping[str, Value]) -> list[Reading]:
        """What is read of these values."""
        return [reading for names in self._alike for reading in self._alike_readings(names, values)]

    def _alike_readings(self, names: tuple[str, ...], values: Mapping[str, Value]) -> Iterator[Reading]:
        """What is read of states that are declared alike, by values that are alike."""
        row = [*map(values.__getitem__, names)]
        if row.count(row[0]) == len(row):
            yield self._reading(names, row[0])
            return
        found: dict[object, list[str]] = {}
        for name, value in zip(names, row, strict=True):
            found.setdefault((value.shape, value.buffer, id(value.table)), []).append(name)
        for alike in found.values():
            yield self._reading(tuple(alike), values[alike[0]])

    def _reading(self, names: tuple[str, ...], value: Value) -> Reading:
        declared, place = self._memories[names[0]].declared, value.buffer
        assert value.shape is not None
        kept = stored_bytes(declared, value.shape)
        both = self._buffers.get(names)
        if both is None:
            both = self._buffers[names] = [*zip(*[self._memories[name].buffers for name in names], strict=True)]
        sources = both[place]
        for source in sources:
            source.kept = kept
        memories = [*map(_HELD, sources)]
        if None in memories:
            memories = [source.held or source.fit(kept) for source in sources]
        if not declared.output:
            return Reading(declared, value, names, memories, (), place)
        if declared.grows:
            return Reading(declared, value, names, memories, sources, place)
        targets = both[1 - place]
        for target in targets:
            target.kept = 0
        return Reading(declared, value, names, memories, targets, 1 - place)

    def _given_tables(self, stream: Stream, values: Mapping[str, Value]) -> dict[str, Given]:
        given: dict[str, Given] = {}
        for (_, table), names in self._selected.items():
            if table:
                value = values[names[0]]
                assert value.shape is not None
                given[table] = self._tables[table].give(stream, value.table, value.shape[1])
        return given

    def _select(self, stream: Stream, values: Mapping[str, Value], selected: np.ndarray,
                by_table: bool) -> dict[str, Value]:
        """Of values of which an input selects rows those that are others with these. What is read `by_table` stays
        where it is if all lie alike, and as many rows are selected as there are."""
        distinct = list({id(value): value for value in values.values()}.values())
        shapes = {value.shape[:2] for value in distinct if value.shape is not None}
        name, one = next(iter(values)), distinct[0]
        count, order = len(selected), selected.tolist()
        if order == [*range(count)] and {rows for _, rows in shapes} == {count} and not any(
                value.table is not None for value in distinct):
            return {}
        length = next(iter(shapes))[0]
        if not (by_table and length and shapes == {(length, count)} and all(
                is_same(value.table, one.table) for value in distinct)):
            return {name: self._memories[name].select(stream, value, selected) for name, value in values.items()}
        rows, table = chosen(self._memories[name].declared, one, selected), one.table
        if not np.array_equal(rows, np.arange(count)):
            table = np.ascontiguousarray(places(table, length, count)[:, rows])
        moved = {id(value): value if value.table is table else replace(value, table=table) for value in distinct}
        return {name: moved[id(value)] for name, value in values.items()}

    def _check_reset(self) -> None:
        """Raise if a state begins anew with the first value of another one that goes on."""
        for name, begins_with in self._begin_with.items():
            others = [other for other in begins_with
                      if self._values[name].shape is None and self._values[other].shape is not None]
            if others:
                raise ClinferError("a state was reset, but not those with which it begins", where="states",
                                   values={"reset": name, "begins with": ", ".join(others)}, hint="reset all of them")


def _without_names(declared: State) -> State:
    """What a state has in common with others that are declared alike."""
    return replace(declared, variable="", input="", output=declared.output and "output", initial="", begins_with=())
