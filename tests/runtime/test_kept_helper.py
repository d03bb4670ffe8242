"""Helper processes stay for the next build, and sick ones do not."""
from __future__ import annotations

import os
import warnings
from collections.abc import Iterator

import pytest

from clinfer.runtime import kept_helper
from clinfer.runtime.device import DeviceInfo, available_devices, find_device
from clinfer.runtime.helper import HelperFailure
from clinfer.runtime.kept_helper import KeptHelper
from clinfer.runtime.program import BuildJob

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
    monkeypatch.setattr(kept_helper, "MOST_REQUESTS", 3)
    numbers = [build(device) for _ in range(4)]
    assert len(set(numbers[:3])) == 1 and numbers[3] != numbers[0]


def test_a_helper_that_failed_is_not_used_again(device: DeviceInfo) -> None:
    helper = KeptHelper(device)
    with pytest.raises(HelperFailure):
        helper.request(BUILD, 1e-6)
    helper.close()
    assert not helper._helper.is_alive and build(device) != helper._helper._process.pid


def test_a_helper_that_ended_is_not_used_again(device: DeviceInfo) -> None:
    helper = KeptHelper(device)
    helper.close()
    helper._helper._process.kill()
    helper._helper._process.wait()
    assert build(device) != helper._helper._process.pid


def test_a_helper_without_work_ends(device: DeviceInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_helper, "IDLE_SECONDS", 0.01)
    helper = KeptHelper(device)
    helper.close()
    helper._helper._process.wait(60)
    assert not KeptHelper._idle


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_leaves_its_parents_helper(device: DeviceInfo) -> None:
    number = build(device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        is_forgotten = not KeptHelper._idle
        KeptHelper.end()
        os._exit(0 if is_forgotten else 1)
    assert os.waitpid(child, 0)[1] == 0 and build(device) == number
