"""Building many programs at once, in helper processes.

Drivers serialise builds within a process, so threads gain nothing and a build in the background would
hold up the ones that somebody waits for.
"""
from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyopencl as cl

from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.helper import Helper, HelperFailure
from clinfer.runtime.program import BuildFailure, BuildJob, binary_of, compile_job


@dataclass(frozen=True)
class BuildResult:
    """A binary for `Engine.load_binary`, or the reason why there is none (the compiler's log, a crash); `was_tried`:
    False where no helper process could be started. `seconds`: what it took."""

    binary: bytes | None
    error: str | None = None
    was_tried: bool = True
    seconds: float = 0.0

    @property
    def is_refused(self) -> bool:
        """Whether the driver was asked and made nothing."""
        return self.binary is None and self.was_tried


Done = Callable[[int, BuildResult], None]
"""Takes the number of a job and its result."""


def build_in_processes(device: DeviceInfo, jobs: Sequence[BuildJob], *, workers: int = 0, timeout: float = 300.0,
                       isolated: bool = False, done: Done = lambda number, result: None) -> list[BuildResult]:
    """Build every job in `workers` processes (0: as many as there are cores); results in the order of the jobs.

    A job that crashes its process or takes more than `timeout` seconds has an error as its result; the
    others are built all the same. A single job is built in this process, unless it is to be `isolated` or rewrites
    what the driver made. `done` is called by this thread with each result as soon as it is there. An interrupt, or an
    error of `done`, ends the processes.
    """
    if len(jobs) == 1 and not isolated and not jobs[0].rewrites:
        done(0, result := _build_here(device, jobs[0]))
        return [result]
    results: dict[int, BuildResult] = {}
    finished: queue.SimpleQueue[tuple[int, BuildResult]] = queue.SimpleQueue()
    pending = iter(enumerate(jobs))
    lock, is_stopped = threading.Lock(), threading.Event()
    lines = [_Line(device, timeout) for _ in range(min(workers or os.cpu_count() or 1, len(jobs)))]

    def next_job() -> tuple[int, BuildJob] | None:
        with lock:
            return None if is_stopped.is_set() else next(pending, None)

    def work(line: _Line) -> None:
        while (entry := next_job()) is not None:
            try:
                result = line.build(entry[1])
            except Exception as error:
                # Whoever waits for the result would wait for ever.
                result = BuildResult(None, f"the build on {device} failed: {error}", was_tried=False)
            finished.put((entry[0], result))
        line.close()

    threads = [threading.Thread(target=work, args=[line], daemon=True) for line in lines]
    try:
        for thread in threads:
            thread.start()
        while len(results) < len(jobs):
            number, result = finished.get()
            results[number] = result
            done(number, result)
        for thread in threads:
            thread.join()
    except BaseException:
        is_stopped.set()
        for line in lines:
            line.close()
        raise
    return [results[number] for number in range(len(jobs))]


class _Line:
    """One helper process at a time, replaced when it fails."""

    def __init__(self, device: DeviceInfo, timeout: float) -> None:
        self._device = device
        self._timeout = timeout
        self._helper: Helper | None = None

    def build(self, job: BuildJob) -> BuildResult:
        try:
            helper = self._helper = self._helper or Helper(self._device)
        except HelperFailure as failure:
            return BuildResult(None, f"the build on {self._device} failed: {failure}", was_tried=False)
        try:
            start = time.perf_counter()
            binary, error = helper.request(("build", job), self._timeout)
            return BuildResult(binary, error, seconds=time.perf_counter() - start)
        except HelperFailure as failure:
            self.close()
            return BuildResult(None, f"the build on {self._device} failed: {failure}")

    def close(self) -> None:
        helper, self._helper = self._helper, None
        if helper:
            helper.close()


def _build_here(device: DeviceInfo, job: BuildJob) -> BuildResult:
    try:
        context = cl.Context([device.cl_device])
        start = time.perf_counter()
        program = compile_job(context, device.cl_device, job)
        return BuildResult(binary_of(program, device), seconds=time.perf_counter() - start)
    except (BuildFailure, cl.Error) as failure:
        return BuildResult(None, str(failure))
