"""Specialisation in the background: a thread that has kernels built and timed by a helper process.

Drivers serialise builds within a process, so nothing is built here. What is faster by a clear margin is loaded and
becomes the result of its tuning task; whatever goes wrong, the result is that the present implementation stays. What
was measured is kept in the device's table of measured times.
"""
from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.base.tracing import log
from clinfer.kernels.implementation import Implementation
from clinfer.kernels.implementation_cache import TuningResult
from clinfer.kernels.jitter import StageCode
from clinfer.kernels.kernel_cache import by_recipe, kernel_cache_of
from clinfer.kernels.specialisation import TuningTask, rivals
from clinfer.kernels.tuner import able_candidates, keep_result, known_result, reference_of, trial_of, usable
from clinfer.runtime.engine import Engine, Program
from clinfer.runtime.helper import Helper, HelperFailure
from clinfer.runtime.trial import TrialResult

QUEUE_CAPACITY = 256
BATCH = 12
MARGIN = 0.97
"""The part of the present time that a faster implementation may take at most."""
IDLE_S = 5.0
TIMEOUT_S = 120.0
MOST_FAILURES = 3
"""Helpers that fail one after the other before specialisation gives up."""
LONGEST_REFERENCE_NS = 3e9
"""Problems for which the reference kernel, with which results are compared, is estimated to take longer are left."""


@dataclass(frozen=True)
class Job:
    """A tuning task, and where its result goes."""

    task: TuningTask
    result: weakref.ref[TuningResult]


class Specialiser:
    """Does tuning tasks of one engine, one batch after the other. Safe for use by several threads.

    The thread and the helper process end when nothing was asked for a while, and on `close`.
    """

    def __init__(self, engine: Engine) -> None:
        self._device = engine.device
        self._kernels = kernel_cache_of(engine)
        self._waiting: deque[Job] = deque()
        self._working = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._helper: Helper | None = None
        self._failures = 0
        self._closed = False

    def give(self, task: TuningTask, result: TuningResult) -> bool:
        """Have a task done later; False where the queue is full or closed, then it may be given again."""
        with self._changed:
            if self._closed or len(self._waiting) >= QUEUE_CAPACITY:
                return False
            self._waiting.append(Job(task, weakref.ref(result)))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="clinfer specialiser", daemon=True)
                self._thread.start()
            self._changed.notify_all()
            return True

    def wait(self, timeout: float) -> bool:
        """Wait until everything given so far is done; False where that takes longer than `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._closed or (not self._waiting and not self._working), timeout)

    def close(self) -> None:
        """End the thread and the helper, whatever they do; open tasks stay undone. Again is harmless."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()
            helper, thread = self._helper, self._thread
        if helper is not None:
            helper.close()
        if thread is not None and thread is not threading.current_thread():
            thread.join(TIMEOUT_S)

    # -- the thread -----------------------------------------------------------------------------

    def _work(self) -> None:
        while batch := self._take():
            try:
                self._do_all(batch)
            finally:
                with self._changed:
                    self._working = 0
                    self._changed.notify_all()

    def _take(self) -> list[Job]:
        """The next tasks; none: the thread shall end."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._closed or self._waiting, IDLE_S) or self._closed:
                self._thread = None
                self._drop_helper()
                return []
            batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
            self._working = len(batch)
            return batch

    def _drop_helper(self) -> None:
        helper, self._helper = self._helper, None
        if helper is not None:
            helper.close()

    def _do_all(self, batch: Sequence[Job]) -> None:
        """Do a batch; what is faster is built at once, so that it shares one program."""
        faster: list[tuple[Job, Implementation]] = []
        for job in batch:
            if job.result() is None or self._closed:
                continue
            if self._failures >= MOST_FAILURES:
                _settle(job, None)
                continue
            try:
                winner = self._winner(job.task)
            except Exception as failure:
                if not self._closed:
                    self._tell(job.task, failure)
                winner = None
            if winner is None:
                _settle(job, None)
            else:
                faster.append((job, winner))
        self._build([each for job, winner in faster for each in _needed(job.task, winner)])
        for job, winner in faster:
            programs = self._build(_needed(job.task, winner))
            job.task.kernels.hold(programs)
            _settle(job, winner if programs else None)

    @staticmethod
    def _tell(task: TuningTask, failure: Exception) -> None:
        log(1, f"{task.problem.primitive.where} keeps its kernel, specialising it failed: {failure}")

    # -- choosing -------------------------------------------------------------------------------

    def _winner(self, task: TuningTask) -> Implementation | None:
        """The faster implementation, if there is one."""
        candidates = [each for each in rivals(task)
                      if each is task.present or not any(map(self._kernels.refusal, _codes([each])))]
        if len(candidates) < 2:
            return None
        result = known_result(candidates, task.problem) or self._measured(task, candidates)
        number = choose(result)
        return candidates[number] if number else None

    def _measured(self, task: TuningTask, candidates: Sequence[Implementation]) -> TrialResult:
        reference = reference_of(able_candidates(task.table, task.problem), task.problem)
        if reference.candidate.estimate(reference.problem) > LONGEST_REFERENCE_NS:
            raise ClinferError("the reference kernel takes too long to compare results with")
        trial = trial_of(candidates, task.problem, reference, self._kernels)
        try:
            answer: TrialResult | None = self._request("trial", trial)
        except HelperFailure:
            self._refuse_unbuildable(candidates)
            raise
        result = usable(answer, task.problem.primitive.where)
        for error in result.errors:
            self._tell(task, HelperFailure(error))
        self._refuse_unbuildable([each for each, times in zip(candidates, result.times, strict=True) if times is None])
        keep_result(candidates, task.problem, result, self._device.driver_version, is_alone=False)
        return result

    def _refuse_unbuildable(self, candidates: Sequence[Implementation]) -> None:
        """Find out of implementations that failed which of their kernels the driver cannot build."""
        codes = _codes(candidates)
        found = self._kernels.find(codes)
        for code in codes:
            if code.kernel_id in found:
                continue
            if self._closed:
                return
            try:
                binary, error = self._request("build", self._kernels.job([code]))
            except HelperFailure as failure:
                binary, error = None, str(failure)
            if binary is None:
                self._kernels.refused.add(code.kernel_id, error)
                self._kernels.refused.keep([code.kernel_id])

    def _build(self, implementations: Sequence[Implementation]) -> dict[str, Program]:
        """The programs of the kernels of implementations, built by the helper where they are not there; none: they
        cannot be had."""
        codes = _codes(implementations)
        programs = self._kernels.find(codes)
        try:
            for alike in by_recipe(code for code in codes if code.kernel_id not in programs):
                binary, error = self._request("build", self._kernels.job(alike))
                if binary is None:
                    raise HelperFailure(str(error))
                programs |= self._kernels.keep(alike, binary)
        except Exception as failure:
            log(1, f"specialised kernels cannot be had: {failure}")
            return {}
        return programs

    def _request(self, *message: object) -> Any:
        """What the helper answers; a helper that fails is replaced by the next request."""
        try:
            if self._helper is None:
                self._helper = Helper(self._device, is_in_background=True)
            if self._closed:
                raise HelperFailure("specialisation was closed")
            answer = self._helper.request(message, TIMEOUT_S)
        except HelperFailure:
            self._failures += 1
            self._drop_helper()
            if self._failures == MOST_FAILURES:
                log(1, f"nothing is specialised any more, {MOST_FAILURES} helper processes failed in a row")
            raise
        self._failures = 0
        return answer


def choose(result: TrialResult) -> int:
    """The number of the candidate to use: each must beat the best before it by a clear margin. The first one, which
    serves at present, need not be beaten where its results are wrong."""
    wrong = {number for number, _ in result.wrong}
    best = next((number for number, times in enumerate(result.times) if times), 0) if 0 in wrong else 0
    for number, times in enumerate(result.times):
        held = result.times[best]
        if times and held and (min(times) <= MARGIN * min(held) and median(times) <= MARGIN * median(held)):
            best = number
    return best


def _codes(implementations: Sequence[Implementation]) -> list[StageCode]:
    """The kernels of implementations, each once."""
    return list({stage.code.kernel_id: stage.code for each in implementations for stage in each.stages}.values())


def _settle(job: Job, faster: Implementation | None) -> None:
    result = job.result()
    if result is not None:
        result.settle(faster)


def _needed(task: TuningTask, winner: Implementation) -> list[Implementation]:
    """The implementation, with the one that brings the weights into its format."""
    wanted, present = _weights(winner), _weights(task.present)
    repack = task.repack(wanted) if task.repack and wanted is not None and wanted != present else None
    return [winner] if repack is None else [winner, repack]


def _weights(implementation: Implementation) -> Layout | None:
    """The layout in which an implementation wants the weights, if there are any."""
    index, inputs = implementation.problem.primitive.weights_input, implementation.problem.inputs
    return None if index is None else inputs[index]


_SPECIALISERS: weakref.WeakKeyDictionary[Engine, Specialiser] = weakref.WeakKeyDictionary()


def specialiser_of(engine: Engine) -> Specialiser:
    """The one specialiser of an engine; it is closed with the engine, or when the interpreter ends."""
    found = _SPECIALISERS.get(engine)
    if found is None:
        found = _SPECIALISERS.setdefault(engine, Specialiser(engine))
        weakref.finalize(engine, found.close)
    return found
