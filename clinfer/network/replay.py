"""A plan in the form in which it is replayed."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import compress
from operator import is_not

from clinfer.network.plans.plan import CallHost, Fetch, Launch, Plan, RunBody, Upload
from clinfer.runtime.kernel import Kernel
from clinfer.runtime.launches import Launches, WorkSize


@dataclass(frozen=True)
class WaitingLaunches:
    """Launches that may run at the same time, and for each the numbers among them of those that it waits for."""

    launches: Launches
    waits: list[tuple[int, ...]]


ReadyStep = Upload | RunBody | Fetch | CallHost | Launches | WaitingLaunches
Ready = Callable[[Launch], tuple[Kernel, WorkSize]]


class Replay:
    """The steps of one plan at a time, launches in unbroken runs; `ready` sets what a launch is given.

    From one plan to the next only the launches that differ are touched, where both have as many in the same places.
    """

    def __init__(self, ready: Ready) -> None:
        self.steps: list[ReadyStep] = []
        self._ready = ready
        self._plan: Plan | None = None
        self._places: list[tuple[Launches | None, int]] = []

    def has(self, plan: Plan) -> bool:
        """Whether it is the form of this plan."""
        return self._plan is plan

    def take(self, plan: Plan) -> None:
        """Be the form of this plan."""
        if self.has(plan):
            return
        before, self._plan = self._plan, None
        if before is None or not self._patch(before, plan):
            self.steps, self._places = [], []
            self._resolve(plan)
        self._plan = plan

    def _patch(self, before: Plan, plan: Plan) -> bool:
        """Exchange what differs; False, and nothing is changed, where that is not enough."""
        if before.waits or plan.waits or len(before.steps) != len(plan.steps):
            return False
        differing = [*map(is_not, before.steps, plan.steps)]
        others = [*compress(plan.steps, differing)]
        if [*map(type, compress(before.steps, differing))] != [*map(type, others)]:
            return False
        for new, (run, position) in zip(others, compress(self._places, differing), strict=True):
            if run is None:
                assert not isinstance(new, Launch)
                self.steps[position] = new
            else:
                run.exchange(position, self._ready(new))  # type: ignore[arg-type]
        return True

    def _resolve(self, plan: Plan) -> None:
        if plan.waits:
            self._resolve_waiting(plan)
            return
        run: Launches | None = None
        for step in plan.steps:
            if isinstance(step, Launch):
                if run is None:
                    run = Launches()
                    self.steps.append(run)
                self._places.append((run, len(run)))
                run.append(self._ready(step))
            else:
                run = None
                self._places.append((None, len(self.steps)))
                self.steps.append(step)

    def _resolve_waiting(self, plan: Plan) -> None:
        run, first = WaitingLaunches(Launches(), []), 0
        for number, (step, waits) in enumerate(zip(plan.steps, plan.waits, strict=True)):
            if not isinstance(step, Launch):
                self.steps.append(step)
                continue
            if not self.steps or self.steps[-1] is not run:
                run, first = WaitingLaunches(Launches(), []), number
                self.steps.append(run)
            run.launches.append(self._ready(step))
            run.waits.append(tuple(other - first for other in waits))
