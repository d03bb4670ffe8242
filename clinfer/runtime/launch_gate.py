"""Timing what a device does with launches, and not how fast the host gives them.

Where a launch takes the host longer than the device, which is so with most kernels of a network on a GPU, a batch of
launches tells the host's time. So the device is first given a kernel that lasts until all are given; its own time is
taken off.
"""
from __future__ import annotations

import ctypes
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any

import numpy as np
import pyopencl as cl

from clinfer.runtime import driver
from clinfer.runtime.program import BuildJob, compile_job

Call = tuple[Any, ...]
"""The arguments of clEnqueueNDRangeKernel from the kernel to the local size."""

_SOURCE = """
kernel void hold(global uint* result, const uint turns) {
    uint state = turns;
    for (uint turn = 0; turn < turns; ++turn) state = (state ^ (state >> 3)) * 2654435761u + turn;
    *result = state;
}
"""
_FIRST_TURNS = 1 << 14
_MOST_TURNS = 1 << 22
"""Some 30 ms: what takes longer to give is timed with what it takes to give it."""
_GIVEN_WITHIN = 0.7
"""The part of the time for which the device is held in which all must be given."""


class LaunchGate:
    """Times batches on one queue, each behind a kernel that lasts until the batch is given."""

    def __init__(self, context: cl.Context, device: cl.Device, queue: cl.CommandQueue) -> None:
        self._queue = queue
        self._program = compile_job(context, device, BuildJob(_SOURCE))
        self._result = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4)
        handle, status = driver.create_kernel(self._program.int_ptr, "hold")
        driver.check(status)
        self._kernel = driver.wrap_kernel(handle)
        self._kernel.set_arg(0, self._result)
        one = (ctypes.c_size_t * 1)(1)
        self._hold: Call = (driver.HANDLE(self._kernel.int_ptr), 1, None, one, one)
        self._turns = 0
        self._alone = 0
        self._last_for(_FIRST_TURNS)

    def time(self, batch: Sequence[Call]) -> int:
        """Nanoseconds of the device for a batch, as far as the host's clock tells."""
        while True:
            given, total = self._run(batch)
            _, alone = self._run(())
            self._alone = min(self._alone, alone)
            if given <= _GIVEN_WITHIN * self._alone or self._turns >= _MOST_TURNS:
                return max(total - self._alone, 1)
            self._last_for(2 * self._turns)

    def _last_for(self, turns: int) -> None:
        self._turns = turns
        self._kernel.set_arg(1, np.uint32(turns))
        self._alone = min(self._run(())[1] for _ in range(3))

    def _run(self, batch: Sequence[Call]) -> tuple[int, int]:
        """Nanoseconds from the begin of the hold until a batch was given, and until it was done."""
        queue, enqueue = driver.HANDLE(self._queue.int_ptr), driver.enqueue_nd_range_kernel
        start = perf_counter_ns()
        driver.check(enqueue(queue, *self._hold, 0, None, None))
        self._queue.flush()
        for call in batch:
            driver.check(enqueue(queue, *call, 0, None, None))
        given = perf_counter_ns() - start
        driver.check(driver.finish(queue))
        return given, perf_counter_ns() - start
