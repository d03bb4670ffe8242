"""A sample of faults and interrupts, of which `python -m tests.faults` strikes as many as wanted."""
from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Iterator

import pytest

from clinfer.runtime.device import DeviceInfo
from tests.faults.campaign import Summary, cases, run
from tests.faults.injection import FAULTS, Mode
from tests.seeds import SEED

SAMPLE = 25
FULL = 2000
TIMEOUT_S = 120.0


def strike(device: DeviceInfo, count: int) -> Summary:
    print(f"python -m tests.faults --seed {SEED} --count {count} --device {device.name}")
    return run(cases(SEED, count, device.name), 1, TIMEOUT_S)


def test_a_campaign_ends_with_its_totals_when_the_time_is_over() -> None:
    summary = run(cases(SEED, 50, "CPU"), 2, TIMEOUT_S, seconds=0.5)
    assert summary.total < summary.wanted == 50
    assert len(summary.cut_off) == 2 and not summary.findings
    assert str(summary).startswith(f"{summary.total} of 50 cases: ")


class Held:
    """Something that must not be held for longer than it is used."""


@contextlib.contextmanager
def doing_nothing() -> Iterator[None]:
    yield


def leave(held: Held, is_left_by_an_error: bool) -> None:
    """Leave a `with` in a frame that holds something."""
    with doing_nothing():
        if is_left_by_an_error:
            raise LookupError


def is_held_after(mode: Mode, chosen: int, is_left_by_an_error: bool) -> bool:
    """Whether it still is when that was struck at a point."""
    held = Held()
    reference = weakref.ref(held)
    with contextlib.suppress(KeyboardInterrupt, LookupError), FAULTS.at(mode, chosen):
        leave(held, is_left_by_an_error)
    del held
    if reference() is not None:
        gc.collect()
    return reference() is not None


@pytest.mark.parametrize("is_left_by_an_error", [False, True])
@pytest.mark.parametrize("mode", ["line", "bytecode"])
def test_no_strike_makes_the_interpreter_hold_what_was_used(mode: Mode, is_left_by_an_error: bool) -> None:
    assert not is_held_after(mode, -1, is_left_by_an_error)
    points = FAULTS.count
    assert points
    assert not [FAULTS.reached for chosen in range(points) if is_held_after(mode, chosen, is_left_by_an_error)]


@pytest.mark.slow
def test_nothing_is_wrong_after_a_fault(device: DeviceInfo) -> None:
    summary = strike(device, SAMPLE)
    assert not summary.findings, "\n".join(f"{case}: {outcome}" for case, outcome in summary.findings)
    assert summary.raised["KeyboardInterrupt"]


@pytest.mark.full
def test_nothing_is_wrong_after_many_faults(device: DeviceInfo) -> None:
    summary = strike(device, FULL)
    assert not summary.findings, "\n".join(f"{case}: {outcome}" for case, outcome in summary.findings)
