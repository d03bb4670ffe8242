"""Runs a body as a loop: slices in, states from run to run, joined results out.

States change between two buffers, so that no run reads what it writes. Where the number of runs is known
before the first one, each joined result is written to its place; else the place is made larger as runs follow.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.base.shape import Dim, StaticShape, show
from clinfer.network.memory.buffers import Given, GrowingBuffer
from clinfer.network.memory.preallocation import Preallocation
from clinfer.program.program import Program
from clinfer.runtime.memory import Memory
from clinfer.runtime.row_copies import CopyRows, row_copies
from clinfer.runtime.stream import Event, Stream
from clinfer.topology import Joining, LoopPorts, Slicing, SourceBody
from clinfer.topology.loop_ports import run_count

if TYPE_CHECKING:
    from clinfer.network.network import Network
    from clinfer.network.output import NetworkOutput

_LAUNCHES_AHEAD = 2048


def deliver(network: Network, source: SourceBody, results: Sequence[Given], targets: Sequence[Given]) -> None:
    """Write what a body gave to where it is wanted, unless it is there."""
    for index, (name, result, target) in enumerate(zip(source.outputs, results, targets, strict=True)):
        if (result.shape or (1,)) != (target.shape or (1,)):
            raise ClinferError("a body gave another shape than the inputs tell", values={
                "output": index, "known": show(target.shape), "actual": show(result.shape)})
        if not result.memory.shares_buffer(target.memory):
            kind = network.program.outputs[name].layout.element_type
            network.stream.copy(result.memory, target.memory, kind.byte_size(math.prod(target.shape)))


class Loop:
    """Runs the network of one body; the memory of its results is its own until it runs again."""

    def __init__(self, network: Network, source: SourceBody, preallocation: Preallocation) -> None:
        assert source.loop is not None
        self._network = network
        self._source = source
        self._ports = source.loop
        program, stream = network.program, network.stream
        make = partial(GrowingBuffer, stream.engine, preallocation=preallocation)
        self._slices = {name: _Slice(stream, slicing, program.inputs[name].element_type, name, make)
                        for name, slicing in self._ports.sliced.items()}
        self._states = {name: tuple(make(f"state {name}") for _ in range(2))
                        for name in self._ports.carried.values()}
        self._joined = {index: _Joined(stream, joining, program.outputs[source.outputs[index]].layout, make)
                        for index, joining in self._ports.joined.items()}
        self._counter = _Counter(stream, program, self._ports.counter) if self._ports.counter else None
        self._condition = _Condition(stream, program, self._ports)

    def run(self, given: Mapping[str, Given], limit: int | None, targets: Sequence[Given] | None,
            proceed: Callable[[], None] | None, is_counted: bool) -> Sequence[Given]:
        """The operation's outputs in their order, for what its inputs give, by the names of the body's inputs.

        `limit`: runs at most. `targets`: where the outputs, whose shapes are known, are to be written (None: they stay
        in memory of the loop's). `proceed`, and `is_counted` of the first runs: see `Network.execute`.
        """
        always = self._condition.for_all(given) if limit != 0 else True
        count = self._count(given, limit, always)
        for index, joined in self._joined.items():
            joined.begin(count if always else None, None if targets is None else targets[index])
        states = {name: given[name] for name in self._ports.carried}
        for name in given.keys() - states.keys() - self._slices.keys():
            self._set_input(name, given[name])
        last, slices = dict[str, Given](), dict[str, _Cuts]()
        ahead = _RunAhead(self._network.stream, self._network.program)
        number, goes_on = 0, True
        while goes_on and number != count:
            self._give(number, given, slices, states)
            outputs = self._network.execute(proceed=proceed, is_counted=is_counted and number < 2)
            last = {name: Given(result.memory, result.layout.static_shape) for name, result in outputs.items()}
            for index, joined in self._joined.items():
                joined.add(last[self._source.outputs[index]])
            states = {name: last[output] for name, output in self._ports.carried.items()}
            number += 1
            ahead.hold(number)
            if always is None and number != count:
                goes_on = self._condition.after(outputs)
        results = [self._result(index, name, last, states) for index, name in enumerate(self._source.outputs)]
        if targets is None:
            return results
        deliver(self._network, self._source, results, targets)
        return targets

    def prepare(self) -> None:
        """Have memory for likely sizes of slices, states and results."""
        for buffer in self._buffers():
            buffer.prepare()

    def release(self) -> None:
        """Give back the memory of slices, states and results, but not that of the network."""
        for joined in self._joined.values():
            joined.begin(None)
        for buffer in self._buffers():
            buffer.release()
        if self._counter is not None:
            self._counter.release()

    def _buffers(self) -> Iterator[GrowingBuffer]:
        yield from (piece.buffer for piece in self._slices.values())
        yield from chain.from_iterable(self._states.values())
        yield from chain.from_iterable(joined.buffers for joined in self._joined.values())

    def _count(self, given: Mapping[str, Given], limit: int | None, always: bool | None) -> int | None:
        """How many runs there are unless the condition, where it is not always the same, ends them earlier."""
        slices = {name: piece.count(given[name].shape) for name, piece in self._slices.items()}
        return run_count(slices, limit, bool(self._ports.condition), always)

    def _give(self, number: int, given: Mapping[str, Given], slices: dict[str, _Cuts],
              states: Mapping[str, Given]) -> None:
        """Let the next run take what is its own, and write its states to where the one before it did not."""
        if self._counter is not None:
            self._set_input(self._ports.counter, self._counter.at(number))
        for name, piece in self._slices.items():
            cuts = slices.get(name) or slices.setdefault(name, piece.of(given[name]))
            cut = cuts.cut(number)
            # Without values it is the same again and again.
            if number == 0 or cut is not cuts.given:
                self._set_input(name, cut)
        for name, state in states.items():
            self._set_input(name, state)
        for name, buffers in self._states.items():
            self._network.set_output(name, buffers[number % 2])

    def _set_input(self, name: str, given: Given) -> None:
        """One element is given in the rank that the body declares, since OpenVINO joins states of [] and [1]."""
        declared, shape, value = self._network.program.inputs[name].shape, given.shape, given.host_value
        if declared is not None and len(declared) != len(shape) and len(declared) < 2 and shape in ((), (1,)):
            shape = (1,) * len(declared)
            value = None if value is None else value.reshape(shape)
        self._network.set_input(name, given.memory, shape, value)

    def _result(self, index: int, name: str, last: Mapping[str, Given], states: Mapping[str, Given]) -> Given:
        joined = self._joined.get(index)
        if joined is not None:
            return joined.finish()
        if last:
            return last[name]
        for state, output in self._ports.carried.items():
            if output == name:
                return states[state]
        raise ClinferError("a loop that did not run once has no last result", values={"output": name})


class _Slice:
    """The slices of one input, cut out into memory of their own."""

    def __init__(self, stream: Stream, slicing: Slicing, element_type: ElementType, name: str,
                 make: Callable[[str], GrowingBuffer]) -> None:
        self._stream = stream
        self._slicing = slicing
        self._type = element_type
        self._name = name
        self.buffer = make(f"slice {name}")

    def count(self, shape: StaticShape) -> int:
        """How many slices a tensor of that shape has."""
        return self._slicing.count(shape[self._slicing.axis])

    def of(self, source: Given) -> _Cuts:
        """Those of a tensor."""
        axis, size = self._slicing.axis % len(source.shape), self._slicing.size
        shape, length = (*source.shape[:axis], size, *source.shape[axis + 1:]), source.shape[axis]
        rows, unit = _rows(shape, axis, self._type)
        target = self.buffer.fit(rows * size * unit)
        copy = row_copies(self._stream, source.memory, target, rows, size * unit, source_pitch=length * unit,
                          target_pitch=size * unit)
        return _Cuts(Given(target, shape), self._slicing, copy, axis, length, unit, source.host_value, self._name)


@dataclass(frozen=True)
class _Cuts:
    """The slices of one tensor, `given` one behind the other in the same memory; `unit`: bytes of an element along the
    axis, which has that length."""

    given: Given
    slicing: Slicing
    copy: CopyRows
    axis: int
    length: int
    unit: int
    value: np.ndarray | None
    name: str

    def cut(self, number: int) -> Given:
        """Slice `number`; valid until the next one is cut."""
        size, at = self.slicing.size, self.slicing.offset(number, self.length)
        if not 0 <= at <= self.length - size:
            raise ClinferError("a loop has fewer slices than runs", values={"run": number, "input": self.name})
        self.copy(at * self.unit, 0)
        value = self.value
        return self.given if value is None else self.given._replace(
            host_value=value.take(range(at, at + size), self.axis))


class _Joined:
    """One tensor made of the results of all runs."""

    def __init__(self, stream: Stream, joining: Joining, declared: Layout,
                 make: Callable[[str], GrowingBuffer]) -> None:
        self._stream = stream
        self._type = declared.element_type
        self._declared = declared.shape or (1,)
        self._axis = joining.axis % len(self._declared)
        self._backwards = joining.backwards
        self.buffers = [make("joined results") for _ in range(2)]
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


class _Counter:
    """The number of the run as an input of the body, written to the device where a kernel reads it."""

    def __init__(self, stream: Stream, program: Program, name: str) -> None:
        declared = program.inputs[name]
        self._stream = stream
        self._shape = (1,) * len(declared.shape or ())
        self._type = declared.element_type
        self._is_read = _is_read_on_device(program, program.input_tensors[name])
        self._buffer = GrowingBuffer(stream.engine, f"counter {name}")

    def at(self, number: int) -> Given:
        """The input for a run."""
        value = np.full(self._shape, number, self._type.numpy)
        memory = self._buffer.fit(value.nbytes)
        if self._is_read:
            self._stream.write(memory, self._type.encode(value.reshape(-1)))
        return Given(memory, self._shape, value)

    def release(self) -> None:
        """Give the memory back."""
        self._buffer.release()


def _rows(shape: StaticShape, axis: int, element_type: ElementType) -> tuple[int, int]:
    """(rows, bytes of one element along the axis) of a tensor that is cut or joined along an axis."""
    return math.prod(shape[:axis]), element_type.byte_size(math.prod(shape[axis + 1:]))


def _is_read_on_device(program: Program, tensor: int) -> bool:
    """Whether anything but the host reads an input."""
    outputs: Iterable[int] = (program.tensors[info.tensor].root for info in program.outputs.values())
    return tensor in outputs or any(
        read == tensor and node.kind != "host" and index not in node.primitive.value_inputs
        for node in program.nodes for index, read in enumerate(node.inputs))


class _RunAhead:
    """Keeps the host from running ahead of the device by more than twice `_LAUNCHES_AHEAD`: drivers keep kilobytes of
    each launch, and what was given is computed to its end, though the loop be interrupted."""

    def __init__(self, stream: Stream, program: Program) -> None:
        launches = sum(node.kind == "kernel" for node in program.nodes)
        self._stream = stream
        self._runs = math.ceil(_LAUNCHES_AHEAD / max(launches, 1))
        self._before: list[Event] = []

    def hold(self, number: int) -> None:
        """Behind the run of this number, wait until those are done that lie so far back."""
        if number % self._runs == 0:
            mark = self._stream.marker()
            self._stream.flush()
            self._stream.wait_for(self._before)
            self._before = [mark]


class _Condition:
    """Whether another run follows."""

    def __init__(self, stream: Stream, program: Program, ports: LoopPorts) -> None:
        self._stream = stream
        self._name = ports.condition
        self._constant = None if ports.condition else True
        self._input = ""
        if ports.condition:
            tensor = program.outputs[ports.condition].tensor
            constant = program.constants.get(tensor)
            self._constant = None if constant is None else _truth(constant.on_host(stream))
            self._input = next((name for name, index in program.input_tensors.items()
                                if index == program.tensors[tensor].root and ports.stays(name, ports.condition)), "")

    def for_all(self, given: Mapping[str, Given]) -> bool | None:
        """The answer of every run, if no run changes it; else None."""
        source = given.get(self._input)
        if source is None:
            return self._constant
        return _truth(self._stream.read(source.memory, 1) if source.host_value is None else source.host_value)

    def after(self, results: Mapping[str, NetworkOutput]) -> bool:
        """The answer of one run."""
        return _truth(results[self._name].to_numpy())


def _truth(value: np.ndarray) -> bool:
    if value.size != 1:
        raise ClinferError("the condition of a loop must be one element", values={"shape": value.shape})
    return bool(value.reshape(-1)[0])
