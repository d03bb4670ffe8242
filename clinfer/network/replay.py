"""A plan in the form in which it is replayed."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from clinfer.network.plan import CallHost, Fetch, Launch, Plan, RunBody, Upload
from clinfer.runtime.kernel import Kernel
from clinfer.runtime.launches import Launches, WorkSize


@dataclass(frozen=True)
class WaitingLaunches:
    """Launches that may run at the same time, and for each the numbers among them of those that it waits for."""

    launches: Launches
    waits: list[tuple[int, ...]]


Replay = list[Upload | RunBody | Fetch | CallHost | Launches | WaitingLaunches]


def resolve(plan: Plan, ready: Callable[[Launch], tuple[Kernel, WorkSize]]) -> Replay:
    """The steps of a plan, launches in unbroken runs; `ready` makes each launch so."""
    if plan.waits:
        return _resolve_waiting(plan, ready)
    resolved: Replay = []
    launches: Launches | None = None
    for step in plan.steps:
        if not isinstance(step, Launch):
            resolved.append(step)
            launches = None
            continue
        if launches is None:
            launches = Launches()
            resolved.append(launches)
        launches.append(ready(step))
    return resolved


def _resolve_waiting(plan: Plan, ready: Callable[[Launch], tuple[Kernel, WorkSize]]) -> Replay:
    resolved: Replay = []
    run, first = WaitingLaunches(Launches(), []), 0
    for number, (step, waits) in enumerate(zip(plan.steps, plan.waits, strict=True)):
        if not isinstance(step, Launch):
            resolved.append(step)
            continue
        if not resolved or resolved[-1] is not run:
            run, first = WaitingLaunches(Launches(), []), number
            resolved.append(run)
        run.launches.append(ready(step))
        run.waits.append(tuple(other - first for other in waits))
    return resolved
