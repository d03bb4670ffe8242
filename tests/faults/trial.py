"""One case in a process of its own: a fault at one point, and what becomes of the next three inferences.

The main program `python -m tests.faults.trial` reads a case (JSON) from each line of its input and answers each with a
line of JSON; the driver's own words go to standard error.
"""
from __future__ import annotations

import contextlib
import faulthandler
import gc
import json
import os
import sys
import threading
import time
import traceback
from dataclasses import asdict, dataclass
from functools import cache
from typing import Literal

import numpy as np

import clinfer
from clinfer.base.errors import ClinferError
from tests.faults.injection import FAULTS, Mode, signal_after, watch_driver
from tests.faults.kinds import KINDS, SIZES, Kind, Session

Part = Literal["infer", "compile"]
TOLERANCE = 1e-4
SPECIALISING_S = 20.0
PART_OF_POINTS = 1.05
"""A case's point is chosen among that many times those that were counted, because no two runs are quite the same."""


@dataclass(frozen=True)
class Case:
    """`point`: which point raises, as a part of all that there are. `seed` decides the shapes and the contents."""

    kind: str
    part: Part
    mode: Mode
    point: float
    seed: int
    device: str

    def __str__(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Outcome:
    """`finding`: what is wrong; empty if nothing. `raised`: what came out of the fault; `at`: where it was."""

    finding: str
    raised: str = ""
    at: str = ""


class Finding(Exception):
    """Something that must not be."""


@dataclass(frozen=True)
class History:
    """What a case does: inferences of these sizes before the fault, with it, and after it."""

    before: tuple[int, ...]
    struck: int
    after: tuple[int, ...]
    seed: int

    @classmethod
    def of(cls, seed: int) -> History:
        rng = np.random.default_rng(seed)
        sizes = [int(size) for size in rng.choice(SIZES, 4)]
        before = tuple(sizes[:int(rng.integers(4))])
        struck = before[-1] if before and rng.random() < 0.4 else sizes[3]
        return cls(before, struck, (struck, int(rng.choice(SIZES)), before[0] if before else int(rng.choice(SIZES))),
                   seed)


def check(kind: Kind, session: Session, size: int, seed: int) -> None:
    """One inference equals what NumPy computes."""
    inputs = kind.inputs(np.random.default_rng(seed), size)
    for number, (got, wanted) in enumerate(zip(session.infer(inputs), kind.expected(inputs), strict=True)):
        if got.shape != wanted.shape:
            raise Finding(f"output {number} has shape {got.shape}, right is {wanted.shape}")
        if not np.allclose(got, wanted, TOLERANCE, TOLERANCE):
            raise Finding(f"output {number} is wrong by {np.abs(got - wanted).max():g}")


def judge(case: Case) -> Outcome:
    """Carry out a case."""
    try:
        _settle()
        held = _core().engine(case.device).ledger.current
        outcome = _infer(case) if case.part == "infer" else _compile(case)
        kept = _kept(case.device, held)
        return outcome if outcome.finding or kept <= 0 else Outcome(f"{kept} bytes are not given back", outcome.raised,
                                                                    outcome.at)
    except Finding as finding:
        return Outcome(str(finding), at=FAULTS.reached)
    except BaseException:
        return Outcome("".join(traceback.format_exc()), at=FAULTS.reached)


def _kept(device: str, held: int) -> int:
    """Bytes that are held beyond those; what a specialiser works on beside us is waited for."""
    deadline = time.monotonic() + SPECIALISING_S
    while True:
        _settle()
        kept = _core().engine(device).ledger.current - held
        if kept <= 0 or time.monotonic() > deadline:
            return kept
        time.sleep(0.1)


def _infer(case: Case) -> Outcome:
    kind, history = KINDS[case.kind], History.of(case.seed)

    def fresh() -> Session:
        session = kind.session(kind.compile(_core(), case.device))
        for number, size in enumerate(history.before):
            check(kind, session, size, history.seed + number)
        return session

    session = fresh()
    inputs = kind.inputs(np.random.default_rng(history.seed + 10), history.struck)
    points = _measured(case.mode, lambda: session.infer(inputs))
    session = fresh()
    raised = _strike(case, points, lambda: session.infer(inputs))
    for number, size in enumerate(history.after):
        _check_afterwards(kind, session, size, history.seed + 20 + number, number)
    session.compiled.release_memory()
    _check_afterwards(kind, session, history.struck, history.seed + 30, len(history.after))
    return Outcome("", raised, FAULTS.reached)


def _compile(case: Case) -> Outcome:
    kind, history = KINDS[case.kind], History.of(case.seed)
    points = _measured(case.mode, lambda: kind.compile(clinfer.Core(), case.device))
    core = clinfer.Core()
    raised = _strike(case, points, lambda: kind.compile(core, case.device))
    session = kind.session(kind.compile(core, case.device))
    for number, size in enumerate(history.after):
        _check_afterwards(kind, session, size, history.seed + 20 + number, number)
    return Outcome("", raised, FAULTS.reached)


def _measured(mode: Mode, work: object) -> float:
    """The number of points of some work, or its seconds."""
    assert callable(work)
    start = time.perf_counter()
    with FAULTS.at(mode, -1):
        work()
    return time.perf_counter() - start if mode == "signal" else FAULTS.count


def _strike(case: Case, points: float, work: object) -> str:
    """Do some work with the fault in it; what it raised."""
    assert callable(work)
    chosen = case.point * PART_OF_POINTS * points
    try:
        if case.mode == "signal":
            with signal_after(chosen):
                work()
        else:
            with FAULTS.at(case.mode, int(chosen)):
                work()
    except (KeyboardInterrupt, ClinferError) as error:
        return type(error).__name__
    except BaseException as error:
        raise Finding(f"the fault came out as {type(error).__name__}: {error}\n{traceback.format_exc()}") from None
    return "nothing"


def _check_afterwards(kind: Kind, session: Session, size: int, seed: int, number: int) -> None:
    try:
        check(kind, session, size, seed)
    except Finding as finding:
        raise Finding(f"inference {number + 1} after the fault: {finding}") from None
    except BaseException:
        raise Finding(f"inference {number + 1} after the fault:\n{traceback.format_exc()}") from None


@cache
def _core() -> clinfer.Core:
    return clinfer.Core()


def _settle() -> None:
    for _ in range(2):
        gc.collect()


def main() -> None:
    """Serve standard input."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    faulthandler.enable()
    # What a destructor is interrupted in, Python prints and goes on.
    sys.unraisablehook = lambda _: None
    watch_driver()
    # What was imported is left out of the collections that each case makes.
    gc.freeze()
    for line in sys.stdin:
        outcome = judge(Case(**json.loads(line)))
        with contextlib.suppress(KeyboardInterrupt):
            answers.write(json.dumps(asdict(outcome)) + "\n")
            answers.flush()
    threading.Timer(10, os._exit, [0]).start()


if __name__ == "__main__":
    main()
