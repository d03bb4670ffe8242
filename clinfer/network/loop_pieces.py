"""What a loop keeps beside the states of its body: slices of inputs, joined results, the number of the run."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.base.shape import Dim, StaticShape, show
from clinfer.network.memory.buffers import Given, GrowingBuffer
from clinfer.program.program import Program
from clinfer.runtime.memory import Memory, NativeBuffer
from clinfer.runtime.rounds import InTurns, MovingCopy, Pair
from clinfer.runtime.row_copies import CopyRows, row_copies
from clinfer.runtime.stream import Stream
from clinfer.topology import Joining, Slicing

_MOST_PLACES = 1 << 10
"""Each takes a kilobyte."""
_MOST_NUMBERS = 1 << 20
"""The numbers of more runs take too much memory."""


class Places:
    """Pieces of a memory one behind the other as memories of their own, kept for as long as the same are asked for.

    They are made when they are asked for again: for memory that comes once, copies cost less.
    """

    def __init__(self) -> None:
        self._asked: tuple[Memory, int, int, int] | None = None
        self._made: InTurns | None = None
        self._is_new = True

    def find(self, memory: Memory, step: int, count: int, first: int = 0) -> InTurns | None:
        """`count` pieces of as many bytes as there are from one beginning to the next, of which the first one begins at
        `first`; None where copies are to be made."""
        asked = memory, step, count, first
        if asked != self._asked:
            self._asked, self._made, self._is_new = asked, None, True
        elif self._is_new and _may_begin(memory, first, step, count):
            self._is_new = False
            # A driver may refuse parts of what somebody else made.
            with suppress(ClinferError):
                self._made = tuple(memory.part(first + number * step, abs(step)) for number in range(count))
        return self._made

    def forget(self) -> None:
        """Let go of them."""
        self._asked = self._made = None


class Slices:
    """The slices of one input, cut out into memory of their own."""

    def __init__(self, stream: Stream, slicing: Slicing, element_type: ElementType, name: str,
                 make: Callable[[str], GrowingBuffer]) -> None:
        self._stream = stream
        self._slicing = slicing
        self._type = element_type
        self._name = name
        self.buffer = make(f"slice {name}")
        self.kept = Places()

    def count(self, shape: StaticShape) -> int:
        """How many slices a tensor of that shape has."""
        return self._slicing.count(shape[self._slicing.axis])

    def of(self, source: Given) -> Cuts:
        """Those of a tensor."""
        axis, size = self._slicing.axis % len(source.shape), self._slicing.size
        shape, length = (*source.shape[:axis], size, *source.shape[axis + 1:]), source.shape[axis]
        rows, unit = _rows(shape, axis, self._type)
        target = self.buffer.fit(rows * size * unit)
        copy = row_copies(self._stream, source.memory, target, rows, size * unit, source_pitch=length * unit,
                          target_pitch=size * unit)
        return Cuts(Given(target, shape), source, self._slicing, copy, axis, rows, unit, self._name, self.kept)


@dataclass(frozen=True)
class Cuts:
    """The slices of one tensor, `given` one behind the other in the same memory; `unit`: bytes of an element along the
    axis, of which each of the `rows` has some."""

    given: Given
    source: Given
    slicing: Slicing
    copy: CopyRows
    axis: int
    rows: int
    unit: int
    name: str
    kept: Places

    @property
    def length(self) -> int:
        """That of the axis."""
        return self.source.shape[self.axis]

    def cut(self, number: int) -> Given:
        """Slice `number`; valid until the next one is cut."""
        size, at = self.slicing.size, self.slicing.offset(number, self.length)
        if not 0 <= at <= self.length - size:
            raise ClinferError("a loop has fewer slices than runs", values={"run": number, "input": self.name})
        self.copy(at * self.unit, 0)
        value = self.source.host_value
        return self.given if value is None else self.given._replace(
            host_value=value.take(range(at, at + size), self.axis))

    def moving(self) -> MovingCopy:
        """All cuts, by the number of the run, where there are slices enough."""
        size, (source, target) = self.slicing.size * self.unit, (self.source.memory, self.given.memory)
        first, step = self._begins(0), self._begins(1) - self._begins(0)
        return MovingCopy((source, source), (target, target), size, self.rows, first, step, self.length * self.unit,
                          0, 0, size)

    def places(self, count: int) -> InTurns | None:
        """The slices of so many runs where they are; None where they are to be cut out."""
        return None if self.rows != 1 else self.kept.find(
            self.source.memory, self._begins(1) - self._begins(0), count, self._begins(0))

    def _begins(self, number: int) -> int:
        return self.slicing.offset(number, self.length) * self.unit


class Joined:
    """One tensor made of the results of all runs."""

    def __init__(self, stream: Stream, joining: Joining, declared: Layout,
                 make: Callable[[str], GrowingBuffer]) -> None:
        self._stream = stream
        self._type = declared.element_type
        self._declared = declared.shape or (1,)
        self._axis = joining.axis % len(self._declared)
        self._backwards = joining.backwards
        self.buffers = [make("joined results") for _ in range(2)]
        self.kept = Places()
        self._memory: Memory | None = None
        self.begin(None)

    def begin(self, count: int | None, target: Given | None = None) -> None:
        """Forget all results; `count` new ones will follow (None: not known), which make up the `target`."""
        self._count, self._is_given = count, target is not None
        self._copies: dict[object, CopyRows] = {}
        self._memory = None
        self._shape = tuple(d.low if isinstance(d, Dim) else d for d in self._declared)
        self._filled = self._capacity = 0
        if target is not None:
            self._memory, self._shape, self._capacity = target.memory, target.shape, target.shape[self._axis]

    def add(self, part: Given) -> None:
        """Put a result to its place."""
        shape, axis = part.shape or (1,), self._axis
        if self._memory is None:
            self._shape = shape
        elif (shape[:axis], shape[axis + 1:]) != (self._shape[:axis], self._shape[axis + 1:]):
            raise ClinferError("the results of a loop's runs cannot be joined", values={
                "axis": axis, "first result": show(self._shape), "later result": show(shape)})
        size, (rows, unit) = shape[axis], _rows(shape, axis, self._type)
        needed = self._filled + size
        if self._memory is None:
            self._resize(max(needed, size * (self._count or 0)))
        elif needed > self._capacity:
            self._resize(max(needed, 2 * self._capacity))
        assert self._memory is not None
        at = self._capacity - needed if self._backwards else self._filled
        place = part.memory, size, self._memory, self._capacity
        copy = self._copies.get(place)
        if copy is None:
            copy = self._copies[place] = row_copies(
                self._stream, part.memory, self._memory, rows, size * unit, source_pitch=size * unit,
                target_pitch=self._capacity * unit)
        copy(0, at * unit)
        self._filled = needed

    def moving(self, parts: Pair, shape: StaticShape, number: int, count: int) -> MovingCopy | None:
        """How the results of runs come to their places, by the number of the run, if `number` of them are there and all
        of `count` have one place behind the other, where these `parts` have that shape."""
        steps = self._steps(shape, number, count)
        if steps is None or self._memory is None:
            return None
        rows, first, step = steps
        unit = _rows(self._shape, self._axis, self._type)[1]
        return MovingCopy(parts, (self._memory, self._memory), abs(step), rows, 0, 0, abs(step), first, step,
                          self._capacity * unit)

    def places(self, shape: StaticShape, number: int, count: int) -> InTurns | None:
        """Where the results of runs can be written to at once; None where they are to be copied."""
        steps = self._steps(shape, number, count)
        if steps is None or steps[0] != 1 or self._memory is None:
            return None
        return self.kept.find(self._memory, steps[2], count, steps[1])

    def _steps(self, shape: StaticShape, number: int, count: int) -> tuple[int, int, int] | None:
        """The rows of a result, where those of run 0 begin in bytes, and how much farther those of the next run."""
        size, (rows, unit) = (shape or (1,))[self._axis], _rows(shape or (1,), self._axis, self._type)
        if self._filled != size * number or size * count > self._capacity:
            return None
        step = size * unit
        return (rows, self._capacity * unit - step, -step) if self._backwards else (rows, 0, step)

    def take_moved(self, number: int, count: int) -> None:
        """The results of `count` runs are at their places, of which there had been `number`."""
        self._filled = self._filled // number * count

    def finish(self) -> Given:
        """The whole; without any result its size along the axis is 0, and sizes that are not known are least."""
        self._copies.clear()
        rows = math.prod(self._shape[:self._axis])
        if self._memory is None or (self._filled != self._capacity and (rows != 1 or self._backwards)):
            self._resize(self._filled)
        assert self._memory is not None
        return Given(self._memory, (*self._shape[:self._axis], self._filled, *self._shape[self._axis + 1:]))

    def _resize(self, capacity: int) -> None:
        """Move what is there to memory for that many elements along the axis."""
        if self._is_given:
            raise ClinferError("the results of a loop's runs do not fill their place", values={
                "axis": self._axis, "place": show(self._shape), "elements": capacity})
        rows, unit = _rows(self._shape, self._axis, self._type)
        if self._memory is not None:
            self.buffers.reverse()
        target = self.buffers[0].fit(rows * capacity * unit)
        if self._memory is not None and self._filled:
            self._stream.copy_rows(
                self._memory, target, rows, self._filled * unit, source_pitch=self._capacity * unit,
                target_pitch=capacity * unit,
                source_offset=(self._capacity - self._filled) * unit if self._backwards else 0,
                target_offset=(capacity - self._filled) * unit if self._backwards else 0)
        self._memory, self._capacity = target, capacity


class Counter:
    """The number of the run as an input of the body, written to the device where a kernel reads it."""

    def __init__(self, stream: Stream, program: Program, name: str) -> None:
        declared = program.inputs[name]
        self._stream = stream
        self._shape = (1,) * len(declared.shape or ())
        self._type = declared.element_type
        self._is_read = _is_read_on_device(program, program.input_tensors[name])
        self._buffer = GrowingBuffer(stream.engine, f"counter {name}")
        self._numbers = GrowingBuffer(stream.engine, f"numbers of runs for {name}")
        self._kept = Places()
        self._numbered = self._step = 0

    def at(self, number: int) -> Given:
        """The input for a run."""
        value = np.full(self._shape, number, self._type.numpy)
        memory = self._buffer.fit(value.nbytes)
        if self._is_read:
            self._stream.write(memory, self._type.encode(value.reshape(-1)))
        return Given(memory, self._shape, value)

    def moving(self, count: int) -> list[MovingCopy] | None:
        """How the number of each run comes to where the last one is, of `count` runs: nothing to do if no kernel reads
        it; None for too many."""
        target = self._buffer.held
        if not self._is_read:
            return []
        if target is None or count > _MOST_NUMBERS:
            return None
        memory, step = self._all(count)
        nbytes = self._type.byte_size(1)
        return [MovingCopy((memory, memory), (target, target), nbytes, 1, 0, step, step, 0, 0, nbytes)]

    def places(self, count: int) -> InTurns | None:
        """The numbers of so many runs where kernels may read them; None where they are to be copied."""
        if not self._is_read or count > _MOST_PLACES:
            return None
        places = self._kept.find(*self._all(count), self._numbered)
        return None if places is None else places[:count]

    def _all(self, count: int) -> tuple[Memory, int]:
        """The memory of all numbers, and where the second one begins: of few runs where a memory may."""
        size, unit = self._type.byte_size(1), self._stream.engine.capabilities.buffer_alignment
        step = max(size, unit) if count <= _MOST_PLACES else size
        memory = self._numbers.fit(count * step)
        if self._numbered < count or self._step != step:
            numbers = self._type.encode(np.arange(count, dtype=self._type.numpy))
            rows = np.zeros((count, step // numbers.itemsize), numbers.dtype)
            rows[:, 0] = numbers
            self._stream.write(memory, rows)
            self._numbered, self._step = count, step
        return memory, step

    def release(self) -> None:
        """Give the memory back."""
        self._kept.forget()
        self._buffer.release()
        self._numbers.release()
        self._numbered = 0


def _rows(shape: StaticShape, axis: int, element_type: ElementType) -> tuple[int, int]:
    """(rows, bytes of one element along the axis) of a tensor that is cut or joined along an axis."""
    return math.prod(shape[:axis]), element_type.byte_size(math.prod(shape[axis + 1:]))


def _may_begin(memory: Memory, first: int, step: int, count: int) -> bool:
    """Whether memories may begin at all of these places."""
    unit = memory.engine.capabilities.buffer_alignment
    return (0 < count <= _MOST_PLACES and step != 0 and first % unit == 0 and step % unit == 0
            and isinstance(memory.native, NativeBuffer))


def _is_read_on_device(program: Program, tensor: int) -> bool:
    """Whether anything but the host reads an input."""
    outputs: Iterable[int] = (program.tensors[info.tensor].root for info in program.outputs.values())
    return tensor in outputs or any(
        read == tensor and node.kind != "host" and index not in node.primitive.value_inputs
        for node in program.nodes for index, read in enumerate(node.inputs))
