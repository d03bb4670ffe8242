"""Processes that draw and run cases, and that may crash or hang."""
from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Collection
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from clinfer.network import network
from clinfer.runtime import kept_helper
from tests.checked_plans import CheckedPlanner
from tests.fuzz.case import Case
from tests.fuzz.generate import generate
from tests.fuzz.running import STAGES, Outcome, check, plugin_result

LIMIT = 120.0
"""Seconds for one case."""
_SLICE = 0.5
LIFE = 150
"""Tasks after which a process makes way for a new one, so that what OpenVINO or a driver keeps stays small."""


@dataclass(frozen=True)
class Answer:
    """How a task went, with the case where there is one."""

    outcome: Outcome
    case: Case | None


class CutOff(Exception):
    """The time is over; says what was under way."""


class Child:
    """One process, kept to some of the processor's cores if these are given; another takes its place after it died,
    was ended or got old. Every task raises CutOff once `cut_off` was called, also the one that is under way."""

    def __init__(self, device: str, limit: float = LIMIT, cores: Collection[int] = ()) -> None:
        self._device, self._limit, self._cores = device, limit, cores
        self._process: Any = None
        self._pipe: Connection
        self._age = 0
        self._is_cut_off = False

    def draw(self, seed: int) -> Answer:
        """Draw the case of a seed and run it."""
        return self._ask(("draw", seed), None)

    def check(self, case: Case, stages: tuple[str, ...] = STAGES) -> Outcome:
        """Run a case."""
        return self._ask(("check", (case, stages)), case).outcome

    def plugin_result(self, case: Case) -> str:
        """What OpenVINO's CPU plugin makes of it."""
        return self._ask(("plugin", case), case).outcome.text

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = None

    def cut_off(self) -> None:
        """End the process for good, from any thread."""
        self._is_cut_off = True
        process = self._process
        if process is not None:
            process.kill()

    def _ask(self, task: tuple[str, Any], case: Case | None) -> Answer:
        if self._process is None and not self._is_cut_off:
            self._start()
        self._age += 1
        began, left = time.monotonic(), self._limit
        at = "clinfer: begin"
        try:
            if self._is_cut_off:
                raise EOFError
            self._pipe.send(task)
            while (waited := _waited(self._pipe, left)) is not None:
                left -= waited
                kind, value = self._pipe.recv()
                if kind == "at":
                    at = value
                elif kind == "case":
                    case = value
                else:
                    if self._age >= LIFE:
                        self.close()
                    return Answer(value, case)
            kind = "hang"
        except (EOFError, OSError):
            kind = "crash"
        self.close()
        if self._is_cut_off:
            raise CutOff(f"{at}, since {time.monotonic() - began:.0f} s")
        who, _, what = at.partition(": ")
        stage = what.split(" ")[0]
        return Answer(Outcome(kind if who == "clinfer" else "oracle", stage, f"{kind}: {at}"), case)

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(theirs, self._device, self._cores), daemon=True)
        self._process.start()
        theirs.close()
        self._age = 0


def _waited(pipe: Connection, most: float) -> float | None:
    """Seconds until something arrives; None: nothing does in so many. Of the time in which both processes were stopped
    no more than a slice counts."""
    waited = 0.0
    while waited < most:
        began = time.monotonic()
        if pipe.poll(min(_SLICE, most - waited)):
            return waited + min(time.monotonic() - began, _SLICE)
        waited += _SLICE
    return None


def work(pipe: Connection, device: str, cores: Collection[int]) -> None:
    """The life of a child: tasks in, reports and outcomes out. Interrupts are the parent's affair."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    network.Planner = CheckedPlanner  # type: ignore[misc]
    kept_helper.IDLE_SECONDS = 600.0
    if cores:
        os.sched_setaffinity(0, cores)
        os.environ.setdefault("POCL_MAX_PTHREAD_COUNT", str(len(cores)))

    def report(text: str) -> None:
        pipe.send(("at", text))
    while True:
        try:
            kind, given = pipe.recv()
        except EOFError:
            return
        if kind == "plugin":
            report("oracle: OpenVINO's CPU plugin")
            pipe.send(("done", Outcome("fine", text=plugin_result(given))))
            continue
        case, stages = given if kind == "check" else (None, STAGES)
        if kind == "draw":
            case = generate(given, lambda text: report(f"oracle: {text}"))
            pipe.send(("case", case))
        pipe.send(("done", Outcome("nothing") if case is None else check(case, device, stages, report)))
