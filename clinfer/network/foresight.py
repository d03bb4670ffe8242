"""Executions that are made ready before they are asked for: of shapes that change by as much each time, as a text's
length does from token to token, while the device is at work on those before."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import add, sub

from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape
from clinfer.network.bindings import Bindings, Wanted
from clinfer.network.memory.buffers import Given
from clinfer.network.memory.states import RequestStates
from clinfer.network.plans.plan import Plan
from clinfer.network.plans.plan_cache import PlanCache, SeenPlan, SegmentKey
from clinfer.network.ready_plans import ReadyPlans
from clinfer.network.reports.execution_log import Note
from clinfer.network.state_ports import StatePorts, StatesGiven
from clinfer.program.program import Program
from clinfer.runtime.stream import Stream

Shapes = Sequence[StaticShape]


class Foresight:
    """Sees shapes one after the other. Once two steps were the same it takes the next one for the same again."""

    def __init__(self) -> None:
        self._last: Shapes = ()
        self._steps: Shapes = ()
        self._expected: Shapes | None = None

    def next(self, shapes: Shapes) -> tuple[StaticShape, ...] | None:
        """What comes behind these shapes; None where that is not known, or they stay."""
        last, steps, expected = self._last, self._steps, self._expected
        self._last, self._steps, self._expected = shapes, (), None
        if shapes != expected:
            if [*map(len, last)] != [*map(len, shapes)]:
                return None
            before, steps = steps, [tuple(map(sub, now, then)) for now, then in zip(shapes, last, strict=True)]
            self._steps = steps
            if steps != before or not any(map(any, steps)):
                return None
        self._steps = steps
        both = [*zip(shapes, steps, strict=True)]
        found = {each: tuple(map(add, *each)) for each in {*both}}
        following = tuple(map(found.__getitem__, both))
        if min(map(min, filter(None, found.values()))) < 0:
            return None
        self._expected = following
        return following


@dataclass(frozen=True, eq=False)
class Foreseen:
    """An execution that is ready: what the next one does if inputs come in these `shapes` (None: declared) and it reads
    the states that are `given`. It holds as long as what it has of the network is left alone. `note`: on what it took.
    """

    key: SegmentKey
    seen: SeenPlan
    shapes: Mapping[str, StaticShape | None]
    given: StatesGiven
    note: Note | None

    def is_for(self, inputs: Mapping[str, Given]) -> bool:
        """Whether these inputs have its shapes."""
        for name, shape in self.shapes.items():
            given = inputs.get(name)
            if given is None or (shape is not None and given.shape != shape):
                return False
        return True


class LookAhead:
    """Makes the next execution of a program with states ready while the device is at work on the last one."""

    def __init__(self, program: Program, stream: Stream, bindings: Bindings, ready: ReadyPlans,
                 state_ports: StatePorts, plans: PlanCache) -> None:
        self._segment, self._stream, self._plans = program.segments[0], stream, plans
        self._bindings, self._ready, self._state_ports = bindings, ready, state_ports
        self._foresight = Foresight()
        self._made: SeenPlan | None = None
        self._foreseen: Foreseen | None = None

    def forget(self) -> None:
        """Nothing is ready any more."""
        self._foreseen = None

    def was_waiting(self, seen: SeenPlan) -> bool:
        """Whether a plan was made ahead, and is asked for the first time."""
        was_made, self._made = seen is self._made, None
        return was_made

    def take(self, states: RequestStates, inputs: Mapping[str, Given]) -> Foreseen | None:
        """The execution that is ready, if it is what these states and inputs ask for."""
        foreseen, self._foreseen = self._foreseen, None
        holds = foreseen is not None and foreseen.is_for(inputs) and self._state_ports.enter_foreseen(
            foreseen.given, states, self._stream, inputs)
        if not holds:
            return None
        self._made = None
        return foreseen

    def look(self, states: RequestStates, plan: Callable[[SegmentKey, Mapping[int, StaticShape]], SeenPlan],
             prepare: Callable[[SegmentKey, Plan, Wanted], Note | None], wanted: Wanted) -> None:
        """Have the next execution ready, as far as its shapes are foreseen and results of the last one stay where they
        are. `plan`, `prepare` do so with a plan; `wanted`: outputs besides states."""
        key, last = self._ready.keys[0], self._ready.current[0]
        following = self._foresight.next(key[0])
        if following is None or last is None or last.is_kept:
            return
        expected = 0, (following, key[1])
        if self._plans.get(expected) is None:
            incoming = dict(zip(self._segment.incoming, following, strict=True))
            # Whoever asks for these shapes is told of errors.
            with suppress(ClinferError):
                self._foreseen = self._ready_for(states, expected, incoming, plan, prepare, wanted)

    def _ready_for(self, states: RequestStates, key: SegmentKey, incoming: Mapping[int, StaticShape],
                   plan: Callable[[SegmentKey, Mapping[int, StaticShape]], SeenPlan],
                   prepare: Callable[[SegmentKey, Plan, Wanted], Note | None], wanted: Wanted) -> Foreseen | None:
        seen = self._made = plan(key, incoming)
        self._ready.set_ahead(0, seen.plan)
        given = self._state_ports.foresee(states, self._stream)
        if given is None or (not given.shapes.items() <= incoming.items() and any(
                incoming.get(tensor, shape) != shape for tensor, shape in given.shapes.items())):
            return None
        wanted = wanted.with_states(given.targets)
        if not self._ready.fits(seen.plan, wanted):
            return None
        self._bindings.bind_each(given.memories)
        note = prepare(key, seen.plan, wanted)
        # States that moved, with what they hold, behind what the device was given, are read where they lie now.
        if note is not None and note.grown and (given := self._state_ports.foresee(states, self._stream)) is None:
            return None
        inputs = {name: incoming.get(tensor) for name, tensor in self._state_ports.besides.input_tensors.items()}
        return Foreseen(key, seen, inputs, given, note)


def has_next(program: Program) -> bool:
    """Whether shapes that states make change from execution to execution decide alone what a program's next one is."""
    return bool(program.states) and len(program.segments) == 1 and not program.segments[0].values
