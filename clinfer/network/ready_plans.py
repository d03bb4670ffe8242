"""Plans that are ready to be launched: memory for them, and their arguments set in the kernels."""
from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple
from weakref import WeakSet

from clinfer.base.errors import ClinferError
from clinfer.network.bindings import Bindings, Wanted
from clinfer.network.memory.memory_pool import MemoryPool
from clinfer.network.memory.slot_bytes import Needs
from clinfer.network.plans.plan import Plan, PlanKey
from clinfer.network.plans.plan_cache import SegmentKey
from clinfer.network.replay import Replay
from clinfer.network.reports.record import Growth
from clinfer.program.program import Program
from clinfer.runtime.event_log import noted
from clinfer.runtime.launches import Launches
from clinfer.runtime.stream import Stream


class Prepared(NamedTuple):
    """What a segment ran `before` another plan was made ready, and what memory grew."""

    before: tuple[PlanKey, Plan] | None
    grown: tuple[Growth, ...]


class ReadyPlans:
    """Those of one network: `replays` has a ready plan for each segment, `current` the one that it ran last, and `keys`
    that one's key."""

    def __init__(self, program: Program, stream: Stream, bindings: Bindings, pool: MemoryPool) -> None:
        self._program, self._stream = program, stream
        self._bindings, self._pool = bindings, pool
        self._fitted: WeakSet[Plan] = WeakSet()
        self.keys: list[PlanKey] = [((), ())] * len(program.segments)
        self.forget()

    def forget(self) -> None:
        """Let every plan ask for its memory again."""
        self.current: list[Plan | None] = [None] * len(self._program.segments)
        self.replays = [Replay(self._bindings.kernels) for _ in self._program.segments]
        self._fitted.clear()

    def prepare(self, key: SegmentKey, plan: Plan, wanted: Wanted, tightens: bool) -> Prepared | None:
        """Have memory and argument blocks ready; None: the plan ran last, and nothing was to be done. `tightens`: see
        `MemoryPool.fit`."""
        number, found = key[0], None
        grown = self._bindings.bind_wanted(plan.output_bytes, wanted)
        own = self._bindings.own_slots(plan.output_bytes, wanted)
        before, has_outputs, replay = self.current[number], self._pool.holds(own), self.replays[number]
        if before is not plan or not replay.has(plan) or grown or not has_outputs or self._pool.is_split or tightens:
            # Where this ends halfway, all is to be done again.
            self.current[number] = None
            if tightens or not has_outputs or not (plan in self._fitted or self._takes(plan, own)):
                grown += noted(self._stream.event_log, "memory", f"segment {number}",
                               lambda: self._fit_slots(number, plan, own, tightens))
            found = Prepared(None if before is None else (self.keys[number], before), grown)
            replay.take(plan)
            self.current[number] = before
        self._bindings.bind_own(plan.output_bytes, wanted)
        self._bindings.alias(number, plan.aliases)
        return found

    def run(self, key: SegmentKey, plan: Plan) -> Replay:
        """What is to be launched of a plan that was prepared, which runs now."""
        number = key[0]
        self.current[number], self.keys[number] = plan, key[1]
        return self.replays[number]

    def set_ahead(self, number: int, plan: Plan) -> None:
        """Set the arguments of a plan that is likely to be the next one; tables of megakernels, too."""
        replay = self.replays[number]
        replay.take(plan)
        with suppress(ClinferError):
            for step in replay.steps:
                if isinstance(step, Launches) and step.staged is not None:
                    step.staged.prepare(self._stream, step)

    def fits(self, plan: Plan, wanted: Wanted) -> bool:
        """Whether a plan can be prepared with all memory left where it is, in which results of the last one lie."""
        if not self._bindings.holds_wanted(plan.output_bytes, wanted):
            return False
        return self._takes(plan, self._bindings.own_slots(plan.output_bytes, wanted))

    def _takes(self, plan: Plan, own: Needs) -> bool:
        """Whether all slots may stay as they are for a plan and outputs (slot, bytes) of the network's own."""
        is_enough = self._pool.takes(plan.slot_bytes.beside(own))
        if is_enough:
            self._fitted.add(plan)
        return is_enough

    def _fit_slots(self, number: int, plan: Plan, own: Needs, tightens: bool) -> tuple[Growth, ...]:
        """Have memory for the slots of a plan and for outputs (slot, bytes) of the network's own; what grew."""
        held = self._program.segments[number].held
        is_moved, grown = self._bindings.fit_slots(plan.slot_bytes.beside(own), held, tightens)
        if is_moved:
            self._fitted.clear()
        if not self._pool.is_split:
            self._fitted.add(plan)
        return grown
