"""Variable states of one request: memory on the device that outlives inferences and belongs to no pool.

An inference never changes what a state holds: it writes behind it (states that grow), or to other memory. `commit`,
when the inference was a success, makes what was written the state. So after an error, or cancelled, all is as before.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from clinfer.base.byte_rows import decode_rows, encode_rows
from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape, admits, show
from clinfer.network.memory.buffers import Given, GrowingBuffer
from clinfer.network.memory.preallocation import EXACT
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


@dataclass(frozen=True)
class Reading:
    """What one inference reads of a state, and the buffer, with its number, in which the next value will lie; None: the
    value stays."""

    given: Given
    buffer: int
    target: StateBuffer | None


@dataclass(frozen=True)
class Value:
    """What a state is: in which of its two buffers it lies, in which shape, as it is stored; None after a reset."""

    shape: StaticShape | None = None
    buffer: int = 0


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
        return units

    def write(self, stream: Stream, value: Value, shape: StaticShape, put: Callable[[Memory], None]) -> Value:
        """The value that `put` writes (blocking), beside another one. `shape`: as it is stored."""
        other = self._buffers[1 - value.buffer]
        other.settle()
        other.kept, other.stream = 0, stream
        put(other.fit(self._bytes(shape)))
        stream.finish()
        return Value(shape, 1 - value.buffer)

    # -- one inference --------------------------------------------------------------------------

    def give(self, stream: Stream, value: Value, first: FirstValues, selected: np.ndarray | None) -> Reading:
        """What an inference reads: the value, after a reset the first one, of it the entries that are `selected`."""
        for buffer in self._buffers:
            buffer.settle()
            buffer.stream = stream
        shape, place = value.shape, value.buffer
        if shape is None:
            shape = self._take_first(stream, self._buffers[place], first)
        if selected is not None:
            shape, place = self._select(stream, shape, place, selected)
        source = self._buffers[place]
        source.kept = self._bytes(shape)
        memory, target = source.fit(source.kept), place if self.declared.grows else 1 - place
        if not self.declared.output:
            return Reading(Given(memory, shape), place, None)
        if not self.declared.grows:
            self._buffers[target].kept = 0
        return Reading(Given(memory, shape), target, self._buffers[target])

    def take(self, stream: Stream, read: Reading, output: NetworkOutput | None) -> Value:
        """What an inference made of what it read. Errors: ClinferError for a size beyond what is declared."""
        if output is None or read.target is None:
            return Value(read.given.shape, read.buffer)
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
        return Value(shape, read.buffer)

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

    def _select(self, stream: Stream, shape: StaticShape, place: int,
                selected: np.ndarray) -> tuple[StaticShape, int]:
        """The entries of the model's axis 0 that an inference works on, in the other buffer unless they are all, in
        their order; their shape, and where they are."""
        axis = self.declared.order.index(0) if self.declared.order else 0
        count, rows = shape[axis], math.prod(shape[:axis])
        made = (*shape[:axis], len(selected), *shape[axis + 1:])
        unit = self._bytes(shape[axis + 1:])
        if not rows * unit or np.array_equal(selected, np.arange(count)):
            return made, place
        if selected.size and not -count <= selected.min() <= selected.max() < count:
            raise ClinferError(f"{self.declared.selected_by!r} selects entries that state {self.declared.variable!r} "
                               "does not have", where="states",
                               values={"entries": count, "selected": np.array2string(selected, threshold=16)})
        other = self._buffers[1 - place]
        other.kept = 0
        source, target = self._buffers[place].fit(self._bytes(shape)), other.fit(self._bytes(made))
        for row, number in enumerate(selected % count):
            stream.copy_rows(source, target, rows, unit, source_pitch=count * unit,
                             target_pitch=len(selected) * unit, source_offset=int(number) * unit,
                             target_offset=row * unit)
        return made, 1 - place


class RequestStates:
    """All states of a request, by their variables. One thread at a time.

    What they are is one dictionary, so that they all change together, also where an interrupt comes.
    """

    def __init__(self, engine: Engine, declared: Sequence[State]) -> None:
        count = max(len(declared) - 1, 1)
        self._memories = {state.variable: StateMemory(
            engine, state, _LEAST_AHEAD + (_MOST_AHEAD - _LEAST_AHEAD) * number / count)
            for number, state in enumerate(declared)}
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
        return sum(memory.nbytes for memory in self._memories.values())

    def read(self, variable: str, stream: Stream) -> np.ndarray:
        """The storage units of a value, as it is stored (blocking); zeros after a reset."""
        return self._memories[variable].read(stream, self._values[variable])

    def write(self, variable: str, stream: Stream, shape: StaticShape, put: Callable[[Memory], None]) -> None:
        """Let a value be what `put` writes; as it was if that fails. `shape`: as it is stored."""
        written = self._memories[variable].write(stream, self._values[variable], shape, put)
        self._values = {**self._values, variable: written}

    def reset(self, variable: str | None = None) -> None:
        """Forget a value, or all; the memory stays for the next ones."""
        self._values = {name: replace(value, shape=None) if variable in (None, name) else value
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
            self._values = {**self._values, variable: replace(value, shape=(length, *shape[1:]))}

    def give(self, stream: Stream, first: FirstValues, selected: Callable[[str], np.ndarray]) -> dict[str, Given]:
        """What an inference reads, by inputs. `selected(input)`: the value of an input that selects entries."""
        self._next = None
        self._check_reset()
        self._read = {}
        for name, memory in self._memories.items():
            by = memory.declared.selected_by
            self._read[name] = memory.give(stream, self._values[name], first, selected(by) if by else None)
        self._check_sizes()
        return {self._memories[name].declared.input: read.given for name, read in self._read.items()}

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
