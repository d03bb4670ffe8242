"""ONNX's node tests on every device: nothing wrong, no error, and no fewer passes than are recorded.

The first CPU runs all cases, in parts that may run beside each other, the other devices a fixed part of them.
"""
from __future__ import annotations

import pytest

from clinfer.runtime.device import available_devices
from tests.conformance.cases import case_names, load_cases
from tests.conformance.record import Record
from tests.conformance.report import summary
from tests.conformance.runner import run_cases

pytestmark = pytest.mark.slow

EVERY = 8
PARTS = 4


def _parts() -> list[tuple[str, int, int]]:
    """(device, first case, step): the parts of all cases on the first CPU, and a fixed choice on the other devices."""
    devices = available_devices()
    first = next((device for device in devices if device.type == "CPU"), devices[0])
    others = [(device.name, 0, EVERY) for device in devices if device is not first]
    return [*((first.name, part, PARTS) for part in range(PARTS)), *others]


@pytest.mark.each_device
@pytest.mark.parametrize(("device", "first", "step"), _parts())
def test_nothing_is_worse_than_recorded(device: str, first: int, step: int) -> None:
    outcomes = list(run_cases(device, lambda cases: cases[first::step]))
    problems = Record.load().find_problems(outcomes)
    assert outcomes
    repeat = f"repeat with: python -m tests.conformance --device {device}"
    assert not problems, "\n".join([*problems, summary(outcomes), repeat])


def test_every_recorded_case_is_there() -> None:
    assert not Record.load().find_missing(case_names(load_cases()))
