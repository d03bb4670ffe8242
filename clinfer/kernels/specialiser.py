"""Specialisation in the background: a thread that has kernels built and timed by a helper process.

Drivers serialise builds within a process, so nothing is built here. What is faster by a clear margin is loaded and
becomes the answer to its question; whatever goes wrong, the answer is that the present implementation stays.
"""
from __future__ import annotations

import hashlib
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
from clinfer.kernels.contract import BufferRef, Problem
from clinfer.kernels.implementation import Implementation, bind
from clinfer.kernels.implementation_cache import Answer
from clinfer.kernels.kernel_cache import BUILD_OPTIONS, KernelCache, kernel_cache_of
from clinfer.kernels.specialisation import Question, contestants
from clinfer.runtime.engine import Engine
from clinfer.runtime.helper import Helper, HelperFailure
from clinfer.runtime.trial import Contestant, Outcome, Trial, TrialLaunch

QUEUE_CAPACITY = 256
BATCH = 12
MARGIN = 0.97
"""The part of the present time that a faster implementation may take at most."""
NICENESS = 10
IDLE_S = 5.0
TIMEOUT_S = 120.0
MOST_FAILURES = 3
"""Helpers that fail one after the other before specialisation gives up."""
LARGEST_TRIAL = 1 << 30


@dataclass(frozen=True)
class Job:
    """A question, and where its answer goes."""

    question: Question
    answer: weakref.ref[Answer]


class Specialiser:
    """Answers questions of one engine, one batch after the other. Safe for use by several threads.

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

    def ask(self, question: Question, answer: Answer) -> bool:
        """Have a question answered later; False where the queue is full or closed, then it may be asked again."""
        with self._changed:
            if self._closed or len(self._waiting) >= QUEUE_CAPACITY:
                return False
            self._waiting.append(Job(question, weakref.ref(answer)))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="clinfer specialiser", daemon=True)
                self._thread.start()
            self._changed.notify_all()
            return True

    def wait(self, timeout: float) -> bool:
        """Wait until everything asked so far is answered; False where that takes longer than `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._closed or (not self._waiting and not self._working), timeout)

    def close(self) -> None:
        """End the thread and the helper, whatever they do; open questions stay unanswered. Again is harmless."""
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
                self._answer_all(batch)
            finally:
                with self._changed:
                    self._working = 0
                    self._changed.notify_all()

    def _take(self) -> list[Job]:
        """The next questions; none: the thread shall end."""
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

    def _answer_all(self, batch: Sequence[Job]) -> None:
        """Answer a batch; what is faster is built at once, so that it shares one program."""
        faster: list[tuple[Job, Implementation]] = []
        for job in batch:
            if job.answer() is None or self._closed:
                continue
            if self._failures >= MOST_FAILURES:
                _settle(job, None)
                continue
            try:
                winner = self._winner(job.question)
            except Exception as failure:
                self._tell(job.question, failure)
                winner = None
            if winner is None:
                _settle(job, None)
            else:
                faster.append((job, winner))
        ready = self._build([each for job, winner in faster for each in _needed(job.question, winner)])
        for job, winner in faster:
            _settle(job, winner if ready else None)

    @staticmethod
    def _tell(question: Question, failure: Exception) -> None:
        log(1, f"{question.problem.primitive.where} keeps its kernel, specialising it failed: {failure}")

    # -- choosing -------------------------------------------------------------------------------

    def _winner(self, question: Question) -> Implementation | None:
        """The faster implementation, if there is one."""
        candidates = contestants(question)
        if len(candidates) < 2:
            return None
        trial = _trial(candidates, question.problem, self._kernels)
        if sum(trial.buffer_bytes) > LARGEST_TRIAL:
            return None
        number = self._kernels.verdict(_digest(trial))
        if number is None or not 0 <= number < len(candidates):
            outcome: Outcome | None = self._request("trial", trial)
            if outcome is None:
                raise ClinferError("the device has no room to time kernels")
            for error in outcome.errors:
                self._tell(question, HelperFailure(error))
            number = choose(outcome)
            self._kernels.keep_verdict(_digest(trial), number)
        return candidates[number] if number else None

    def _build(self, implementations: Sequence[Implementation]) -> bool:
        """Have the kernels of implementations ready, built by the helper; whether they are."""
        codes = {stage.code.kernel_id: stage.code for each in implementations for stage in each.stages}
        try:
            missing = self._kernels.missing(codes.values())
            if missing:
                binary, error = self._request("build", self._kernels.source(missing), BUILD_OPTIONS)
                if binary is None:
                    raise HelperFailure(str(error))
                self._kernels.keep(missing, binary)
        except Exception as failure:
            log(1, f"specialised kernels cannot be had: {failure}")
            return False
        return True

    def _request(self, *message: object) -> Any:
        """The helper's answer; a helper that fails is replaced by the next request."""
        try:
            if self._helper is None:
                self._helper = Helper(self._device, NICENESS)
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


def choose(outcome: Outcome) -> int:
    """The number of the contestant to use: each must beat the best before it by a clear margin."""
    best = 0
    for number, times in enumerate(outcome.times):
        held = outcome.times[best]
        if times and held and (min(times) <= MARGIN * min(held) and median(times) <= MARGIN * median(held)):
            best = number
    return best


def _settle(job: Job, faster: Implementation | None) -> None:
    answer = job.answer()
    if answer is not None:
        answer.settle(faster)


def _needed(question: Question, winner: Implementation) -> list[Implementation]:
    """The implementation, with the one that brings the weights into its format."""
    wanted, present = _weights(winner), _weights(question.present)
    repack = question.repack(wanted) if question.repack and wanted is not None and wanted != present else None
    return [winner] if repack is None else [winner, repack]


def _weights(implementation: Implementation) -> Layout | None:
    """The layout in which an implementation wants the weights, if there are any."""
    index, inputs = implementation.problem.primitive.weights_input, implementation.problem.inputs
    return None if index is None else inputs[index]


def _trial(candidates: Sequence[Implementation], problem: Problem, kernels: KernelCache) -> Trial:
    """The trial of implementations on static layouts."""
    sizes: dict[tuple[BufferRef, Layout | None], int] = {}
    ways = []
    for implementation in candidates:
        own = implementation.candidate.in_own_formats(problem)
        lowered = implementation.candidate.lower(own)
        launches = []
        for part, launch in zip(implementation.stages, bind(implementation, own, lowered), strict=True):
            numbers = []
            for buffer in part.buffers:
                layout, nbytes = _buffer(buffer, own, lowered.scratch)
                sizes[buffer, layout] = max(nbytes, sizes.get((buffer, layout), 0))
                numbers.append(list(sizes).index((buffer, layout)))
            if 0 not in launch.work.global_size:
                launches.append(TrialLaunch(launch.kernel_id, tuple(numbers), launch.block,
                                            launch.work.global_size, launch.work.local_size))
        ways.append(Contestant(kernels.source([stage.code for stage in implementation.stages]), tuple(launches)))
    return Trial(tuple(ways), tuple(sizes.values()), BUILD_OPTIONS)


def _buffer(buffer: BufferRef, problem: Problem, scratch: Sequence[int]) -> tuple[Layout | None, int]:
    """The layout (of scratch: none) and the bytes of a buffer."""
    if buffer.kind == "scratch":
        return None, scratch[buffer.index]
    layout = (problem.all_inputs if buffer.kind == "input" else problem.outputs)[buffer.index]
    return layout, layout.byte_size


def _digest(trial: Trial) -> str:
    return hashlib.sha256(repr(trial).encode()).hexdigest()[:32]


_SPECIALISERS: weakref.WeakKeyDictionary[Engine, Specialiser] = weakref.WeakKeyDictionary()


def specialiser_of(engine: Engine) -> Specialiser:
    """The one specialiser of an engine; it is closed with the engine, or when the interpreter ends."""
    found = _SPECIALISERS.get(engine)
    if found is None:
        found = _SPECIALISERS.setdefault(engine, Specialiser(engine))
        weakref.finalize(engine, found.close)
    return found
