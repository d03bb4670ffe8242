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

from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.helper import HelperFailure
from clinfer.runtime.kept_helper import KeptHelper
from clinfer.runtime.program import BuildJob


@dataclass(frozen=True)
class BuildResult:
    """A binary for `Engine.load_binary`, or the reason why there is none (the compiler's log, a crash); `was_tried`:
    False where no helper process could be started; `was_killed`: somebody else ended it, as the system does for want of
    memory. `seconds`: what it took."""

    binary: bytes | None
    error: str | None = None
    was_tried: bool = True
    was_killed: bool = False
    seconds: float = 0.0

    @property
    def is_refused(self) -> bool:
        """Whether the driver was asked and made nothing."""
        return self.binary is None and self.was_tried


MOST_AHEAD = 4
"""Processes that start before it is known how many programs there are."""

Done = Callable[[int, BuildResult], None]
"""Takes the number of a job and its result."""


class HelpersAhead:
    """Helper processes that start before there is something to build, because that takes as long as some kernels do.
    Who builds in `workers` processes takes them; `close` ends those that nobody took."""

    def __init__(self, device: DeviceInfo, workers: int) -> None:
        self._device = device
        self._lock = threading.Lock()
        self._starting = [_Starting(device) for _ in range(min(worker_count(workers), MOST_AHEAD))]

    def take(self, device: DeviceInfo) -> KeptHelper | None:
        """One of the helpers, waited for until it is ready; None: there is none for the device."""
        while device == self._device:
            with self._lock:
                starting = self._starting.pop() if self._starting else None
            if starting is None:
                return None
            helper = starting.helper()
            if helper is not None:
                return helper
        return None

    def close(self) -> None:
        """End those that nobody took; who is still starting ends later."""
        with self._lock:
            left, self._starting = self._starting, []
        for starting in left:
            starting.close()


class _Starting:
    """A helper that is started by a thread of its own."""

    def __init__(self, device: DeviceInfo) -> None:
        self._device = device
        self._lock = threading.Lock()
        self._is_wanted = True
        self._helper: KeptHelper | None = None
        self._thread = threading.Thread(target=self._start, name="clinfer starts a helper", daemon=True)
        self._thread.start()

    def _start(self) -> None:
        try:
            helper = KeptHelper(self._device)
        except HelperFailure:
            # Who wants to build tries again, and tells.
            return
        with self._lock:
            if self._is_wanted:
                self._helper = helper
                return
        helper.close()

    def helper(self) -> KeptHelper | None:
        """The helper once it is ready; None: it could not be started."""
        self._thread.join()
        return self._helper

    def close(self) -> None:
        """End the helper, now or when it is ready."""
        with self._lock:
            self._is_wanted = False
            helper, self._helper = self._helper, None
        if helper is not None:
            helper.close()


def worker_count(workers: int) -> int:
    """How many processes build where `workers` were asked for; 0: one per core."""
    return workers or os.cpu_count() or 1


def build_in_processes(device: DeviceInfo, jobs: Sequence[BuildJob], *, workers: int = 0, timeout: float = 300.0,
                       done: Done = lambda number, result: None,
                       ahead: Sequence[HelpersAhead] = ()) -> list[BuildResult]:
    """Build every job in `workers` processes (0: one per core); results in the order of the jobs.

    A job that crashes its process or takes more than `timeout` seconds has an error as its result; the
    others are built all the same. `done` is called by this thread with each result as soon as it is there. Helpers that
    were started `ahead` are taken first. An interrupt, or an error of `done`, ends the processes.
    """
    results: dict[int, BuildResult] = {}
    finished: queue.SimpleQueue[tuple[int, BuildResult]] = queue.SimpleQueue()
    pending = iter(enumerate(jobs))
    lock, is_stopped = threading.Lock(), threading.Event()
    lines = [_Line(device, timeout, ahead) for _ in range(min(worker_count(workers), len(jobs)))]

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

    def __init__(self, device: DeviceInfo, timeout: float, ahead: Sequence[HelpersAhead]) -> None:
        self._device = device
        self._timeout = timeout
        self._ahead = ahead
        self._helper: KeptHelper | None = None

    def build(self, job: BuildJob) -> BuildResult:
        try:
            helper = self._helper = self._helper or self._started()
        except HelperFailure as failure:
            return BuildResult(None, f"the build on {self._device} failed: {failure}", was_tried=False)
        try:
            start = time.perf_counter()
            binary, error = helper.request(("build", job), self._timeout)
            return BuildResult(binary, error, seconds=time.perf_counter() - start)
        except HelperFailure as failure:
            self.close()
            return BuildResult(None, f"the build on {self._device} failed: {failure}", was_killed=failure.was_killed)

    def _started(self) -> KeptHelper:
        taken = (ahead.take(self._device) for ahead in self._ahead)
        return next((helper for helper in taken if helper is not None), None) or KeptHelper(self._device)

    def close(self) -> None:
        helper, self._helper = self._helper, None
        if helper:
            helper.close()
