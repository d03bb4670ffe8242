"""ONNX's node tests on every device: nothing wrong, no error, and no fewer passes than are recorded.

The first CPU runs all cases, the other devices a fixed part of them.
"""
from __future__ import annotations

from collections.abc import Sequence

import pytest

from clinfer.runtime.device import available_devices, find_device
from tests.conformance.outcome import CaseName
from tests.conformance.record import Record
from tests.conformance.report import summary
from tests.conformance.runner import run_cases

pytestmark = pytest.mark.slow

DEVICES = [device.name for device in available_devices()]
EVERY = 8
JOBS = 2


def _is_first_cpu(device: str) -> bool:
    return device == next((name for name in DEVICES if find_device(name).type == "CPU"), DEVICES[0])


@pytest.mark.parametrize("device", DEVICES)
def test_nothing_is_worse_than_recorded(device: str) -> None:
    runs_all = _is_first_cpu(device)

    def choose(cases: Sequence[CaseName]) -> Sequence[CaseName]:
        return cases if runs_all else cases[::EVERY]
    record, outcomes = Record.load(), list(run_cases(device, choose, jobs=JOBS))
    problems = record.find_problems(outcomes) + (record.find_missing(outcomes) if runs_all else [])
    assert outcomes
    repeat = f"repeat with: python -m tests.conformance --device {device}"
    assert not problems, "\n".join([*problems, summary(outcomes), repeat])
