"""Times of launches are the device's, however long the host takes to give them, and whatever else it does."""
from __future__ import annotations

import ctypes
import itertools
import time
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

from clinfer.runtime import driver
from clinfer.runtime.engine import Engine
from clinfer.runtime.launch_gate import _MOST_TURNS, Call, LaunchGate
from clinfer.runtime.program import BuildJob, compile_job
from clinfer.runtime.trial import Trial, TrialBench, TrialBuffer, TrialCandidate, TrialLaunch, quietest

_SOURCE = "kernel void touch(global uint* data) { data[get_global_id(0)] += 1; }"
_LAUNCHES = 20
_SLOWLY_S = 5e-3


def test_the_host_may_be_slow(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    context, device = engine.cl_context, engine.device.cl_device
    queue = cl.CommandQueue(context, device)
    gate = LaunchGate(context, device, queue)
    program = compile_job(context, device, BuildJob(_SOURCE))
    handle, _ = driver.create_kernel(program.int_ptr, "touch")
    kernel, data = driver.wrap_kernel(handle), np.zeros(64, np.uint32)
    memory = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=data)
    kernel.set_arg(0, memory)
    call: Call = (driver.HANDLE(kernel.int_ptr), 1, None, (ctypes.c_size_t * 1)(64), None)
    plain, given = driver.enqueue_nd_range_kernel, 0

    def slowly(queue: Any, given_kernel: Any, *rest: Any) -> int:
        nonlocal given
        if given_kernel is call[0]:
            given += 1
            time.sleep(_SLOWLY_S / _LAUNCHES)
        return int(plain(queue, given_kernel, *rest))
    monkeypatch.setattr(driver, "enqueue_nd_range_kernel", slowly)
    assert gate.time([call] * _LAUNCHES) > 0
    assert gate._turns == _MOST_TURNS or gate._alone > 1e9 * _SLOWLY_S, "what the host took to give them was timed"
    cl.enqueue_copy(queue, data, memory)
    assert given >= _LAUNCHES
    assert (data == given).all(), "every launch ran"


@pytest.mark.parametrize(("times", "quiet"), [
    ([900.0, 10.2, 10.0, 2000.0, 10.1], (10.0, 10.1, 10.2)), ([10.0, 10.1, 900.0, 950.0], ()),
    ([10.0, 10.1], (10.0, 10.1)),
    ([10.0 + 0.01 * number for number in range(16)], (10.0, 10.01, 10.02, 10.03)), ([], ())])
def test_the_quietest_rounds_count(times: list[float], quiet: tuple[float, ...]) -> None:
    assert quietest(times) == quiet


@pytest.mark.parametrize("is_busy", [False, True])
def test_a_busy_device_is_told_of(engine: Engine, is_busy: bool) -> None:
    """A GPU of which another process has most of the time."""
    bench = TrialBench(engine.cl_context, engine.device.cl_device)
    number = itertools.count()
    bench._is_gpu, bench._clock = True, lambda batch: 1000 * len(batch) * (2 ** next(number) if is_busy else 1)
    candidate = TrialCandidate((BuildJob(_SOURCE),), (TrialLaunch(0, "touch", (0,), b"", (64,), None),))
    result = bench.run(Trial((candidate, candidate), (TrialBuffer(256, zero=True),), candidate))
    assert result.is_disturbed == is_busy
    assert all(times == (() if is_busy else (1000.0,) * len(times)) for times in result.times if times is not None)
