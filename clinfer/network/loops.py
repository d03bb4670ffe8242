"""Runs a body as a loop: slices in, states from run to run, joined results out.

States change between two buffers, so that no run reads what it writes. Where the number of runs is known
before the first one, each joined result is written to its place; else the place is made larger as runs follow.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape, show
from clinfer.network.loop_pieces import Counter, Cuts, Joined, Slices
from clinfer.network.memory.buffers import Given, GrowingBuffer
from clinfer.network.memory.preallocation import Preallocation
from clinfer.network.repetition import Changes
from clinfer.program.program import Program
from clinfer.runtime.rounds import InTurns, MovingCopy
from clinfer.runtime.stream import Event, Stream
from clinfer.topology import LoopPorts, SourceBody
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
        self._slices = {name: Slices(stream, slicing, program.inputs[name].element_type, name, make)
                        for name, slicing in self._ports.sliced.items()}
        self._states = {name: tuple(make(f"state {name}") for _ in range(2))
                        for name in self._ports.carried.values()}
        self._joined = {index: Joined(stream, joining, program.outputs[source.outputs[index]].layout, make)
                        for index, joining in self._ports.joined.items()}
        self._counter = Counter(stream, program, self._ports.counter) if self._ports.counter else None
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
        course = _Course(given, count, always, {name: given[name] for name in self._ports.carried})
        for name in given.keys() - course.states.keys() - self._slices.keys():
            self._set_input(name, given[name])
        ahead = _RunAhead(self._network.stream, self._network.program)
        while not course.is_over:
            stays = self._run_once(course, proceed, is_counted and course.number < 2)
            ahead.hold(course.number)
            if stays and not course.is_over:
                self._run_rounds(course, ahead, proceed)
        results = [self._result(index, name, course) for index, name in enumerate(self._source.outputs)]
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

    def _run_once(self, course: _Course, proceed: Callable[[], None] | None, is_counted: bool) -> bool:
        """Make the next run; whether it gives states of the shapes that it had."""
        before = course.states
        self._give(course)
        course.outputs = self._network.execute(proceed=proceed, is_counted=is_counted)
        self._take(course, course.number + 1)
        self._join(course.outputs)
        self._ask(course)
        return all(self._shape(name, before[name].shape) == self._shape(name, state.shape)
                   for name, state in course.states.items())

    def _run_rounds(self, course: _Course, ahead: _RunAhead, proceed: Callable[[], None] | None) -> None:
        """Make the other runs as rounds of what the last one launched, if that is possible: all up to the end, or those
        up to the one behind which the condition says no."""
        turns = self._in_turns(course.outputs)
        changes = self._changes(course, turns) if course.always else Changes(turns)
        if changes is None:
            return
        with self._network.rounds(changes) as rounds:
            if rounds is None:
                return
            while not course.is_over:
                if proceed is not None:
                    proceed()
                number, until = course.number, course.number + 1
                if course.always:
                    until = ahead.until(number, course.count)
                else:
                    self._place(course)
                rounds.enqueue(number, until)
                course.outputs = self._outputs(course.outputs, turns, until - 1)
                self._take(course, until)
                if course.always:
                    for joined in self._joined.values():
                        joined.take_moved(number, until)
                else:
                    self._join(course.outputs)
                    self._ask(course)
                ahead.hold(until)

    def _take(self, course: _Course, number: int) -> None:
        """So many runs were made, the last of which gave these outputs."""
        course.number = number
        course.states = {name: _given(course.outputs[output]) for name, output in self._ports.carried.items()}

    def _join(self, outputs: Mapping[str, NetworkOutput]) -> None:
        for index, joined in self._joined.items():
            joined.add(_given(outputs[self._source.outputs[index]]))

    def _ask(self, course: _Course) -> None:
        """Learn whether another run follows the last one."""
        if course.always is None and course.number != course.count:
            course.goes_on = self._condition.after(course.outputs)

    def _in_turns(self, outputs: Mapping[str, NetworkOutput]) -> dict[int, InTurns]:
        """What states lie in, as inputs and outputs of the body, in runs of even numbers and in others."""
        turns, roots = dict[int, InTurns](), self._network.roots
        for name, buffers in self._states.items():
            even, odd = (buffer.fit(outputs[name].layout.byte_size) for buffer in buffers)
            turns[roots[name]] = even, odd
        for name, output in self._ports.carried.items():
            even, odd = turns[roots[output]]
            turns[self._network.program.input_tensors[name]] = odd, even
        return turns

    def _changes(self, course: _Course, turns: Mapping[int, InTurns]) -> Changes | None:
        """What changes between runs of a known number; None if it is more than can be told."""
        assert course.count is not None
        numbers = [] if self._counter is None else self._counter.moving(course.count)
        joined = [self._moving_result(index, course, turns) for index in self._joined]
        behind = [copy for copy in joined if copy is not None]
        if numbers is None or len(behind) != len(joined):
            return None
        return Changes(turns, [*numbers, *(cuts.moving() for cuts in course.slices.values())], behind)

    def _moving_result(self, index: int, course: _Course, turns: Mapping[int, InTurns]) -> MovingCopy | None:
        assert course.count is not None
        name = self._source.outputs[index]
        memory, shape, _ = _given(course.outputs[name])
        parts = turns.get(self._network.roots[name], (memory, memory))
        return self._joined[index].moving(parts, shape, course.number, course.count)

    def _outputs(self, outputs: Mapping[str, NetworkOutput], turns: Mapping[int, InTurns],
                 number: int) -> Mapping[str, NetworkOutput]:
        """What the run of that number gave, where these are the outputs of another one."""
        roots = self._network.roots
        return {name: replace(output, memory=turns[roots[name]][number % 2]) if roots[name] in turns else output
                for name, output in outputs.items()}

    def _give(self, course: _Course) -> None:
        """Let the next run take what is its own, and write its states to where the one before it did not."""
        for name, given in (*self._place(course).items(), *course.states.items()):
            self._set_input(name, given)
        for name, buffers in self._states.items():
            self._network.set_output(name, buffers[course.number % 2])

    def _place(self, course: _Course) -> dict[str, Given]:
        """Put the next run's number and slices to their places; those that are others than in the run before."""
        number, placed = course.number, dict[str, Given]()
        if self._counter is not None:
            placed[self._ports.counter] = self._counter.at(number)
        for name, piece in self._slices.items():
            cuts = course.slices.get(name) or course.slices.setdefault(name, piece.of(course.given[name]))
            cut = cuts.cut(number)
            # Without values it is the same again and again.
            if number == 0 or cut is not cuts.given:
                placed[name] = cut
        return placed

    def _set_input(self, name: str, given: Given) -> None:
        shape, value = self._shape(name, given.shape), given.host_value
        self._network.set_input(name, given.memory, shape, value if value is None else value.reshape(shape))

    def _shape(self, name: str, shape: StaticShape) -> StaticShape:
        """One element is given in the rank that the body declares, since OpenVINO joins states of [] and [1]."""
        declared = self._network.program.inputs[name].shape
        is_other = declared is not None and len(declared) != len(shape) and len(declared) < 2 and shape in ((), (1,))
        return (1,) * len(declared) if is_other and declared is not None else shape

    def _result(self, index: int, name: str, course: _Course) -> Given:
        joined = self._joined.get(index)
        if joined is not None:
            return joined.finish()
        if course.outputs:
            return _given(course.outputs[name])
        for state, output in self._ports.carried.items():
            if output == name:
                return course.states[state]
        raise ClinferError("a loop that did not run once has no last result", values={"output": name})


@dataclass
class _Course:
    """How far one execution of a loop is, in which `count` runs follow unless the condition, where it is not `always`
    the same, ends them: the `number` of runs so far, what the last one gave, and what the next one begins with."""

    given: Mapping[str, Given]
    count: int | None
    always: bool | None
    states: Mapping[str, Given]
    slices: dict[str, Cuts] = field(default_factory=dict)
    outputs: Mapping[str, NetworkOutput] = field(default_factory=dict)
    number: int = 0
    goes_on: bool = True

    @property
    def is_over(self) -> bool:
        """Whether no run follows."""
        return not self.goes_on or self.number == self.count


def _given(output: NetworkOutput) -> Given:
    return Given(output.memory, output.layout.static_shape)


class _RunAhead:
    """Keeps the host from running ahead of the device by more than twice `_LAUNCHES_AHEAD`: drivers keep kilobytes of
    each launch, and what was given is computed to its end, though the loop be interrupted."""

    def __init__(self, stream: Stream, program: Program) -> None:
        launches = sum(node.kind == "kernel" for node in program.nodes)
        self._stream = stream
        self._runs = math.ceil(_LAUNCHES_AHEAD / max(launches, 1))
        self._before: list[Event] = []

    def until(self, number: int, count: int | None) -> int:
        """Up to which of `count` runs those from this number on may be given at once."""
        ahead = (number // self._runs + 1) * self._runs
        return ahead if count is None else min(ahead, count)

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
