"""A sample of faults and interrupts, of which `python -m tests.faults` strikes as many as wanted."""
from __future__ import annotations

import pytest

from clinfer.runtime.device import DeviceInfo
from tests.faults.campaign import Summary, cases, run
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


@pytest.mark.slow
def test_nothing_is_wrong_after_a_fault(device: DeviceInfo) -> None:
    summary = strike(device, SAMPLE)
    assert not summary.findings, "\n".join(f"{case}: {outcome}" for case, outcome in summary.findings)
    assert summary.raised["KeyboardInterrupt"]


@pytest.mark.full
def test_nothing_is_wrong_after_many_faults(device: DeviceInfo) -> None:
    summary = strike(device, FULL)
    assert not summary.findings, "\n".join(f"{case}: {outcome}" for case, outcome in summary.findings)
