"""Runs cases on a device and holds the wrong ones against OpenVINO's CPU plugin."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from queue import SimpleQueue

from tests.conformance.guard import Guard
from tests.conformance.outcome import WRONG, CaseName, Outcome

TIMEOUT_S = 120.0


def run_cases(device: str, choose: Callable[[Sequence[CaseName]], Sequence[CaseName]],
              timeout_s: float = TIMEOUT_S, jobs: int = 1) -> Iterator[Outcome]:
    """The outcomes of the cases that `choose` picks among all, in that order; `jobs` cases run at a time."""
    with ExitStack() as stack:
        guards = [stack.enter_context(Guard(device, timeout_s)) for _ in range(jobs)]
        free: SimpleQueue[Guard] = SimpleQueue()
        for guard in guards:
            free.put(guard)

        def run(case: CaseName) -> Outcome:
            guard = free.get()
            try:
                return _run_case(guard, case)
            finally:
                free.put(guard)
        pool = ThreadPoolExecutor(jobs)
        stack.callback(pool.shutdown, cancel_futures=True)
        yield from pool.map(run, choose(guards[0].names))


def _run_case(guard: Guard, case: CaseName) -> Outcome:
    outcome = guard.judge(case)
    if outcome.status != WRONG:
        return outcome
    is_same, difference = guard.beside_openvino(case)
    return replace(outcome, is_openvinos=is_same, openvino=difference)
