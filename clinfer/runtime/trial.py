"""Timing ways to compute the same thing against one another, in a helper process.

Buffers hold a byte pattern that is a small positive number in every float type. Rounds take the ways by turns, so
that what disturbs the machine disturbs all of them.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
import pyopencl as cl

from clinfer.runtime import driver
from clinfer.runtime.program import BuildFailure, compile_source

PATTERN = 0x3C
MOST_ROUNDS = 15
LEAST_ROUNDS = 5
ROUNDS_S = 0.5
MOST_PROGRAMS = 64


@dataclass(frozen=True)
class TrialLaunch:
    """A launch: the kernel, the numbers of its buffers, its argument block (empty: none) and work sizes."""

    entry: str
    buffers: tuple[int, ...]
    block: bytes
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None


@dataclass(frozen=True)
class Contestant:
    """One way: the source of its kernels, and its launches in order."""

    source: str
    launches: tuple[TrialLaunch, ...]


@dataclass(frozen=True)
class Trial:
    """Ways to be timed on buffers of these sizes; the first is the one to beat."""

    contestants: tuple[Contestant, ...]
    buffer_bytes: tuple[int, ...]
    options: str = ""


@dataclass(frozen=True)
class Outcome:
    """Device nanoseconds of each contestant in each round; None for one that failed, with why in `errors`."""

    times: tuple[tuple[int, ...] | None, ...]
    errors: tuple[str, ...] = ()


_Ready = list[tuple[Any, TrialLaunch]]


class TrialBench:
    """Runs trials on one device; built programs are kept for later trials."""

    def __init__(self, context: cl.Context, device: cl.Device) -> None:
        self._context = context
        self._device = device
        self._queue = cl.CommandQueue(context, device, cl.command_queue_properties.PROFILING_ENABLE)
        self._programs: dict[tuple[str, str], cl._cl._Program] = {}

    def run(self, trial: Trial) -> Outcome:
        """Time every contestant; an error of the device where the buffers cannot be had."""
        buffers = [self._buffer(nbytes) for nbytes in trial.buffer_bytes]
        errors: list[str] = []
        ready = [self._ready(contestant, trial.options, buffers, errors) for contestant in trial.contestants]
        times: list[list[int]] = [[] for _ in ready]
        for index, launches in enumerate(ready):
            if launches is not None and self._timed(launches, errors) is None:
                ready[index] = None
        end = monotonic() + ROUNDS_S
        for number in range(MOST_ROUNDS):
            if number >= LEAST_ROUNDS and monotonic() > end:
                break
            for launches, spent in zip(ready, times, strict=True):
                if launches is not None:
                    spent.append(self._timed(launches, errors) or 0)
        return Outcome(tuple(None if launches is None else tuple(spent)
                             for launches, spent in zip(ready, times, strict=True)), tuple(errors))

    def _buffer(self, nbytes: int) -> cl.Buffer:
        buffer = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, max(nbytes, 1))
        if nbytes:
            cl._cl._enqueue_fill_buffer(self._queue, buffer, np.array([PATTERN], np.uint8), 0, nbytes)
        return buffer

    def _ready(self, contestant: Contestant, options: str, buffers: Sequence[cl.Buffer],
               errors: list[str]) -> _Ready | None:
        try:
            program = self._program(contestant.source, options)
            return [(self._kernel(program, launch, buffers), launch) for launch in contestant.launches]
        except (BuildFailure, cl.Error) as error:
            errors.append(str(error))
            return None

    def _program(self, source: str, options: str) -> cl._cl._Program:
        program = self._programs.pop((source, options), None) or compile_source(
            self._context, self._device, source, options)
        self._programs[source, options] = program
        if len(self._programs) > MOST_PROGRAMS:
            self._programs.pop(next(iter(self._programs)))
        return program

    @staticmethod
    def _kernel(program: cl._cl._Program, launch: TrialLaunch, buffers: Sequence[cl.Buffer]) -> cl.Kernel:
        handle, status = driver.create_kernel(program.int_ptr, launch.entry)
        if not handle:
            raise BuildFailure(f"{launch.entry}: status {status}")
        kernel = driver.wrap_kernel(handle)
        for position, number in enumerate(launch.buffers):
            kernel.set_arg(position, buffers[number])
        if launch.block:
            kernel._set_arg_buf(len(launch.buffers), launch.block)
        return kernel

    def _timed(self, launches: _Ready, errors: list[str]) -> int | None:
        """Nanoseconds of one run; None if it failed."""
        try:
            events = [cl.enqueue_nd_range_kernel(self._queue, kernel, launch.global_size, launch.local_size)
                      for kernel, launch in launches]
            self._queue.finish()
            return sum(event.profile.end - event.profile.start for event in events)
        except cl.Error as error:
            errors.append(str(error))
            return None
