"""Runs a body as a loop: slices in, states from run to run, joined results out.

States change between two buffers, so that no run reads what it writes. Where the number of runs is known
before the first one, each joined result is written to its place; else the place is made larger as runs follow. Runs
that launch what the one before them did are enqueued as rounds (`runtime/rounds.py`).
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
from clinfer.network.output import NetworkOutput
from clinfer.network.repetition import Changes
from clinfer.program.program import Program
from clinfer.runtime.rounds import InTurns, MovingCopy, Rounds
from clinfer.runtime.stream import Event, Stream
from clinfer.topology import LoopPorts, SourceBody
from clinfer.topology.loop_ports import run_count

if TYPE_CHECKING:
    from clinfer.network.network import Network

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
        self._placeable = _placeable(program)

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
            joined.kept.forget()
        for piece in self._slices.values():
            piece.kept.forget()
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
        course.number += 1
        course.states = {name: _given(course.outputs[output]) for name, output in self._ports.carried.items()}
        self._join(course.outputs)
        self._ask(course)
        return all(self._shape(name, before[name].shape) == self._shape(name, state.shape)
                   for name, state in course.states.items())

    def _run_rounds(self, course: _Course, ahead: _RunAhead, proceed: Callable[[], None] | None) -> None:
        """Make the other runs as rounds of what the last one launched, if that is possible: all up to the end, or those
        up to the one behind which the condition says no."""
        with self._network.rounds(partial(self._changes, course)) as made:
            if made is None:
                return
            if course.always:
                self._run_all(course, made.rounds, ahead, proceed)
                course.outputs = self._outputs(course.outputs, made.in_turns, course.number - 1)
            else:
                outputs = [self._outputs(course.outputs, made.in_turns, number) for number in range(2)]
                self._run_each(course, made.rounds, outputs, ahead, proceed)

    def _run_all(self, course: _Course, rounds: Rounds, ahead: _RunAhead, proceed: Callable[[], None] | None) -> None:
        """Make all that is left of a known number of runs."""
        while not course.is_over:
            if proceed is not None:
                proceed()
            number, course.number = course.number, ahead.until(course.number, course.count)
            rounds.enqueue(number, course.number)
            for joined in self._joined.values():
                joined.take_moved(number, course.number)
            ahead.hold(course.number)

    def _run_each(self, course: _Course, rounds: Rounds, outputs: Sequence[Mapping[str, NetworkOutput]],
                  ahead: _RunAhead, proceed: Callable[[], None] | None) -> None:
        """Make one run after the other, of which even ones and others have these outputs, while the condition holds."""
        while not course.is_over:
            if proceed is not None:
                proceed()
            number, course.number = course.number, course.number + 1
            self._place(course, number)
            rounds.enqueue(number, course.number)
            course.outputs = outputs[number % 2]
            self._join(course.outputs)
            self._ask(course)
            ahead.hold(course.number)

    def _join(self, outputs: Mapping[str, NetworkOutput]) -> None:
        for index, joined in self._joined.items():
            joined.add(_given(outputs[self._source.outputs[index]]))

    def _ask(self, course: _Course) -> None:
        """Learn whether another run follows the last one."""
        if course.always is None and course.number != course.count:
            course.goes_on = self._condition.after(course.outputs)

    def _changes(self, course: _Course) -> Changes | None:
        """What changes between runs; None if it is more than can be told. Of runs of a known number that is all that
        they take and give, of others what states lie in."""
        turns, roots, tensors = dict[int, InTurns](), self._network.roots, self._network.program.input_tensors
        for name, buffers in self._states.items():
            even, odd = (buffer.fit(course.outputs[name].layout.byte_size) for buffer in buffers)
            turns[roots[name]] = even, odd
        placed = self._placed_results(course) if course.always else {}
        turns |= placed
        for name, output in self._ports.carried.items():
            *before, last = turns[roots[output]]
            turns[tensors[name]] = last, *before
        if not course.always:
            return Changes(turns)
        assert course.count is not None
        turns |= self._placed_inputs(course.slices, course.count)
        counter = None if self._counter is None or tensors[self._ports.counter] in turns else self._counter
        numbers = [] if counter is None else counter.moving(course.count)
        cuts = [cuts.moving() for name, cuts in course.slices.items() if tensors[name] not in turns]
        joined = [self._moving_result(index, course, turns) for index in self._joined
                  if roots[self._source.outputs[index]] not in placed]
        behind = [copy for copy in joined if copy is not None]
        return None if numbers is None or len(behind) != len(joined) else Changes(turns, [*numbers, *cuts], behind)

    def _placed_results(self, course: _Course) -> dict[int, InTurns]:
        """Joined results that runs write to where they are wanted, by their roots."""
        assert course.count is not None
        found, joined = dict[int, InTurns](), {index: self._network.roots[self._source.outputs[index]]
                                               for index in self._joined}
        for index, root in joined.items():
            if root in self._placeable and [*joined.values()].count(root) == 1:
                shape = course.outputs[self._source.outputs[index]].layout.static_shape
                places = self._joined[index].places(shape, course.number, course.count)
                if places is not None:
                    found[root] = places
        return found

    def _placed_inputs(self, slices: Mapping[str, Cuts], count: int) -> dict[int, InTurns]:
        """Slices, and numbers of runs, that are read where they are, by the roots of inputs."""
        tensors, pieces = self._network.program.input_tensors, dict[str, Cuts | Counter](slices)
        if self._counter is not None:
            pieces[self._ports.counter] = self._counter
        found = {tensors[name]: piece.places(count) for name, piece in pieces.items()
                 if tensors[name] in self._placeable}
        return {root: places for root, places in found.items() if places is not None}

    def _moving_result(self, index: int, course: _Course, turns: Mapping[int, InTurns]) -> MovingCopy | None:
        assert course.count is not None
        name = self._source.outputs[index]
        memory, shape, _ = _given(course.outputs[name])
        even, odd = turns.get(self._network.roots[name], (memory, memory))
        return self._joined[index].moving((even, odd), shape, course.number, course.count)

    def _outputs(self, outputs: Mapping[str, NetworkOutput], turns: Mapping[int, InTurns],
                 number: int) -> Mapping[str, NetworkOutput]:
        """What the run of that number gave, where these are the outputs of another one."""
        roots = self._network.roots
        places = {root: memories[number % len(memories)] for root, memories in turns.items()}
        return {name: replace(output, memory=places.get(roots[name], output.memory))
                for name, output in outputs.items()}

    def _give(self, course: _Course) -> None:
        """Let the next run take what is its own, and write its states to where the one before it did not."""
        for name, given in (*self._place(course, course.number).items(), *course.states.items()):
            self._set_input(name, given)
        for name, buffers in self._states.items():
            self._network.set_output(name, buffers[course.number % 2])

    def _place(self, course: _Course, number: int) -> dict[str, Given]:
        """Put a run's number and slices to their places; those that are others than in the run before."""
        placed = dict[str, Given]()
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


def _placeable(program: Program) -> frozenset[int]:
    """The inputs and outputs of a body, by their roots, that may lie in other memory in each run: no other tensor lies
    there. None where an output is an input, too."""
    given = {*program.input_tensors.values()}
    roots = {program.tensors[output.tensor].root for output in program.outputs.values()}
    if given & roots:
        return frozenset()
    aliased = {tensor for node in program.nodes for each in node.aliases for tensor in (each.moved, each.within)}
    return frozenset(given | {root for root in roots if program.tensors[root].storage == "output"}) - aliased


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
        """The answer of one run (blocking). Nothing was given behind it, so that the host may copy it at the finish."""
        output = results[self._name]
        raw = np.empty(output.layout.byte_size, np.uint8)
        self._stream.read_at_finish(output.memory, raw)
        self._stream.finish()
        return _truth(raw.view(output.layout.element_type.storage))


def _truth(value: np.ndarray) -> bool:
    if value.size != 1:
        raise ClinferError("the condition of a loop must be one element", values={"shape": value.shape})
    return bool(value.reshape(-1)[0])
