"""Helper processes stay for the next build, and sick ones do not."""
from __future__ import annotations

from collections.abc import Iterator

import pytest

from clinfer.runtime.device import DeviceInfo, available_devices, find_device
from clinfer.runtime.helper import HelperFailure
from clinfer.runtime.program import BuildJob
from tests import kept_helpers
from tests.kept_helpers import KeptHelper

BUILD = ("build", BuildJob("kernel void put(global int* x) { x[0] = 1; }"))


@pytest.fixture
def device() -> Iterator[DeviceInfo]:
    KeptHelper.end()
    yield find_device(available_devices()[0].name)
    KeptHelper.end()


def build(device: DeviceInfo) -> int:
    """Build in a helper and close it; the number of its process."""
    helper = KeptHelper(device)
    assert helper.request(BUILD, 60)[0]
    helper.close()
    return helper._helper._process.pid


def test_a_helper_serves_many_builds(device: DeviceInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_helpers, "MOST_REQUESTS", 3)
    numbers = [build(device) for _ in range(4)]
    assert len(set(numbers[:3])) == 1 and numbers[3] != numbers[0]


def test_a_helper_that_failed_is_not_used_again(device: DeviceInfo) -> None:
    helper = KeptHelper(device)
    with pytest.raises(HelperFailure):
        helper.request(BUILD, 1e-6)
    helper.close()
    assert helper._helper._process.poll() is not None and build(device) != helper._helper._process.pid
