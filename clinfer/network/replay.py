"""A plan in the form in which it is replayed."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from clinfer.network.plans.packed_steps import PackedSteps, packed
from clinfer.network.plans.plan import CallHost, Fetch, Launch, Plan, RunBody, Upload
from clinfer.runtime.argument_changes import LeftBuffers
from clinfer.runtime.kernel import Kernel
from clinfer.runtime.launches import KernelTable, Launches, WorkSize


@dataclass(frozen=True)
class WaitingLaunches:
    """Launches that may run at the same time, and for each the numbers among them of those that it waits for."""

    launches: Launches
    waits: list[tuple[int, ...]]


ReadyStep = Upload | RunBody | Fetch | CallHost | Launches | WaitingLaunches
_Kernels = tuple[tuple[int, ...], bytes]
"""How many launches are before each other step, and the numbers of all kernels in a row."""
_MOST_FORMS = 8


class Replay:
    """The steps of one plan at a time, launches of `kernels` in unbroken runs.

    Plans that launch the same kernels between the same other steps have one form, of which only the launches that
    differ are touched; sizes choose among few.
    """

    def __init__(self, kernels: KernelTable) -> None:
        self.steps: list[ReadyStep] = []
        self._kernels = kernels
        self._plan: Plan | None = None
        self._forms: dict[_Kernels, list[ReadyStep]] = {}
        """The latest ones, the one in use last."""
        self._left: LeftBuffers = []

    def has(self, plan: Plan) -> bool:
        """Whether it is the form of this plan."""
        return self._plan is plan

    def take(self, plan: Plan) -> None:
        """Be the form of this plan."""
        if self.has(plan):
            return
        self._plan = None
        if plan.waits:
            self._resolve_waiting(plan)
        else:
            self._resolve(packed(plan.steps))
        self._plan = plan

    def _resolve(self, steps: PackedSteps) -> None:
        self.steps = self._form(steps)
        first, others = 0, iter(steps.others)
        for number, step in enumerate(self.steps):
            if isinstance(step, Launches):
                step.become(steps.launches, first, self._kernels)
                first += len(step)
            else:
                self.steps[number] = next(others)[1]

    def _form(self, steps: PackedSteps) -> list[ReadyStep]:
        key = tuple([position for position, _ in steps.others]), steps.launches.all_kernels()
        form = self._forms.pop(key, None)
        if form is None:
            if len(self._forms) == _MOST_FORMS:
                del self._forms[next(iter(self._forms))]
            form = [*_runs_between(steps, self._left)]
        self._forms[key] = form
        return form

    def _resolve_waiting(self, plan: Plan) -> None:
        self.steps = []
        first, is_run = 0, False
        for number, (step, waits) in enumerate(zip(plan.steps, plan.waits, strict=True)):
            if not isinstance(step, Launch):
                self.steps.append(step)
                is_run = False
                continue
            if not is_run:
                first, is_run = number, True
                self.steps.append(WaitingLaunches(Launches(), []))
            run = self.steps[-1]
            assert isinstance(run, WaitingLaunches)
            run.launches.extend([self._ready(step)])
            run.waits.append(tuple(other - first for other in waits))

    def _ready(self, launch: Launch) -> tuple[Kernel, WorkSize]:
        """What is launched, with its argument block set."""
        kernel = self._kernels[launch.kernel]
        if launch.block:
            kernel.set_block(launch.block)
        return kernel, launch.work


def _runs_between(steps: PackedSteps, left: LeftBuffers) -> Iterable[ReadyStep]:
    """The other steps, and between them launches that are to be told."""
    first = 0
    for position, step in (*steps.others, (len(steps.launches), None)):
        if position > first:
            yield Launches(position - first, left)
            first = position
        if step is not None:
            assert not isinstance(step, Launch)
            yield step
