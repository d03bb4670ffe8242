"""Plans that are made before they are asked for: of shapes that change by as much each time, as a text's length does
from token to token, while the device is at work on those before."""
from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from operator import add, sub

from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape
from clinfer.network.bindings import Bindings
from clinfer.network.memory.memory_pool import MemoryPool
from clinfer.network.plans.plan import Plan, PlanKey
from clinfer.network.plans.plan_cache import PlanCache, SeenPlan, SegmentKey
from clinfer.network.replay import Replay
from clinfer.program.program import Program
from clinfer.runtime.launches import Launches
from clinfer.runtime.stream import Stream

Shapes = Sequence[StaticShape]


class Foresight:
    """Sees shapes one after the other. Once two steps were the same it takes the next one for the same again."""

    def __init__(self) -> None:
        self._last: Shapes = ()
        self._steps: Shapes = ()

    def next(self, shapes: Shapes) -> tuple[StaticShape, ...] | None:
        """What comes behind these shapes; None where that is not known, or they stay."""
        last, before, self._last, self._steps = self._last, self._steps, shapes, ()
        if [*map(len, last)] != [*map(len, shapes)]:
            return None
        steps = self._steps = [tuple(map(sub, now, then)) for now, then in zip(shapes, last, strict=True)]
        if steps != before or not any(map(any, steps)):
            return None
        following = tuple([tuple(map(add, now, step)) for now, step in zip(shapes, steps, strict=True)])
        return following if min(map(min, filter(None, following))) >= 0 else None


class PlansAhead:
    """The plan that the only segment of a program is likely to need next."""

    def __init__(self, program: Program, stream: Stream, bindings: Bindings, pool: MemoryPool,
                 plans: PlanCache) -> None:
        self._segment, self._stream, self._plans = program.segments[0], stream, plans
        self._bindings, self._pool = bindings, pool
        self._foresight = Foresight()
        self._made: SeenPlan | None = None

    def was_waiting(self, seen: SeenPlan) -> bool:
        """Whether a plan was made ahead, and is asked for the first time."""
        was_made, self._made = seen is self._made, None
        return was_made

    def take(self, replay: Replay, key: PlanKey, plan: Plan | None, wanted: Container[int],
             make: Callable[[SegmentKey, Mapping[int, StaticShape]], SeenPlan]) -> Sequence[Plan]:
        """Let `replay` be ready for what comes behind a plan that was continued, where that is foreseen: a plan that is
        there, or that this makes. It is what this returns if all slots may stay, where results still lie. `wanted`: see
        `Bindings.own_slots`."""
        shapes, values = key
        following = self._foresight.next(shapes)
        if following is None or plan is None or plan.is_kept:
            return ()
        expected = 0, (following, values)
        seen = self._plans.get(expected)
        if seen is None:
            try:
                seen = self._made = make(expected, dict(zip(self._segment.incoming, following, strict=True)))
            except ClinferError:
                # Whoever asks for these shapes is told.
                return ()
        replay.take(seen.plan)
        with suppress(ClinferError):
            for step in replay.steps:
                if isinstance(step, Launches) and step.staged is not None:
                    step.staged.prepare(self._stream, step)
        own = self._bindings.own_slots(seen.plan.output_bytes, wanted)
        return (seen.plan,) if self._pool.takes((*seen.plan.slot_bytes, *own)) else ()


def plans_ahead(program: Program, stream: Stream, bindings: Bindings, pool: MemoryPool,
                plans: PlanCache) -> PlansAhead | None:
    """For a program whose states make shapes change from execution to execution, which alone decide what is done."""
    if not program.states or len(program.segments) > 1 or program.segments[0].values:
        return None
    return PlansAhead(program, stream, bindings, pool, plans)
