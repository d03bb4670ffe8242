"""Timing candidates for the same work against one another, in a helper process; the results of each are compared first.

Inputs hold random numbers, or what the primitive says (`Primitive.trial_inputs`), the same for all candidates in
whichever layouts these want them. Outputs hold a pattern that no result is (floats: NaN), so that what is not written
is seen. A time is that of a batch of launches and one wait, by the host's clock: events slow down what they measure,
and tell nothing true of short kernels. On GPUs the device waits until the batch is given (`launch_gate.py`). Rounds
take the candidates by turns, so that what disturbs the machine disturbs all of them.
"""
from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from time import monotonic, perf_counter_ns
from typing import Any

import numpy as np
import pyopencl as cl

from clinfer.base.element_type import ElementType
from clinfer.base.layout import Layout
from clinfer.runtime import driver
from clinfer.runtime.launch_gate import Call, LaunchGate
from clinfer.runtime.program import BuildFailure, BuildJob, compile_job

POISON = 0xFF
MOST_ROUNDS = 15
LEAST_ROUNDS = 5
MOST_SHARED = 40
"""Rounds on a device that may have work of other processes; those that `quietest` wants are enough."""
ROUNDS_S = 0.5
MOST_PROGRAMS = 64
MOST_LAUNCHES = 200
WAITS_IN_BATCH = 20
"""A batch takes as long as so many waits, so that the one at its end hardly counts."""
LEAST_BATCH_NS = 200_000
TOLERANCE = {"f64": 1e-9, "f32": 2e-4, "f16": 2e-2, "bf16": 5e-2}
"""By the type of the results, how far they may be apart, relative to the largest of them; whole numbers, which are
rounded at the end, by one."""
JUMPS = 1e-3
"""The part of the results that may be anything but no number where fused operations may make a jump of what rounding
moves (FakeQuantize from level to level, Floor, tan)."""
_ROUNDED = 1.01
"""Steps of its grid by which rounding may move a number that is stored on it."""
_QUIET, _QUIET_WITHIN = 3, 1.05
"""Rounds that must agree, and how far they may be apart."""
_PERIOD = 65521
"""Random numbers come again after so many: a prime, so that they meet other axes elsewhere."""


@dataclass(frozen=True)
class TrialBuffer:
    """A buffer of `nbytes`. An input holds `values`, or random numbers of a `seed`, in a `layout`, an output has a
    number under which results are compared; one without a layout holds nothing, or zeros."""

    nbytes: int
    layout: Layout | None = None
    seed: int = 0
    output: int | None = None
    zero: bool = False
    values: np.ndarray | None = None


@dataclass(frozen=True)
class TrialLaunch:
    """A launch: the number of its program, the kernel, the numbers of its buffers, its argument block (empty: none)
    and work sizes."""

    program: int
    entry: str
    buffers: tuple[int, ...]
    block: bytes
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None


@dataclass(frozen=True)
class TrialCandidate:
    """One candidate: the programs that hold its kernels, and its launches in order."""

    programs: tuple[BuildJob, ...]
    launches: tuple[TrialLaunch, ...]


@dataclass(frozen=True)
class Trial:
    """Candidates to be timed on these buffers; the first is the one to beat. `reference`: whose results are right.
    `wait_ns`: what it takes to wait once. `may_jump`: whether some results may be far apart, see JUMPS."""

    candidates: tuple[TrialCandidate, ...]
    buffers: tuple[TrialBuffer, ...]
    reference: TrialCandidate
    wait_ns: float = 0.0
    may_jump: bool = False


@dataclass(frozen=True)
class TrialResult:
    """Nanoseconds of each candidate in each round; None for one that failed, with why in `errors`, or whose results
    are not the reference's: `wrong` pairs its number with the difference. `is_disturbed`: other work on the device left
    no round quiet, and the times tell nothing."""

    times: tuple[tuple[float, ...] | None, ...]
    errors: tuple[str, ...] = ()
    wrong: tuple[tuple[int, str], ...] = ()
    is_disturbed: bool = False


class _Failed(Exception):
    """What the device or its compiler said."""


_Ready = list[tuple[Any, TrialLaunch]]


class TrialBench:
    """Runs trials on one device; built programs are kept for later trials."""

    def __init__(self, context: cl.Context, device: cl.Device) -> None:
        self._context = context
        self._device = device
        self._queue = cl.CommandQueue(context, device)
        self._programs: dict[BuildJob, cl._cl._Program] = {}
        self._is_gpu = bool(device.type & cl.device_type.GPU)
        self._clock = LaunchGate(context, device, self._queue).time if self._is_gpu else self._time

    def run(self, trial: Trial) -> TrialResult:
        """Compare and time every candidate; an error of the device where the buffers cannot be had. If the reference
        fails, so does every candidate."""
        buffers = [self._buffer(buffer) for buffer in trial.buffers]
        try:
            wanted = self._results(trial, self._ready(trial.reference, buffers), buffers)
        except _Failed as failure:
            return TrialResult((None,) * len(trial.candidates), (f"the reference kernel: {failure}",))
        errors: list[str] = []
        wrong: list[tuple[int, str]] = []
        ready: list[_Ready | None] = []
        for number, candidate in enumerate(trial.candidates):
            try:
                launches = self._ready(candidate, buffers)
                difference = _difference(self._results(trial, launches, buffers), wanted, trial.may_jump)
                if difference:
                    wrong.append((number, difference))
                ready.append(None if difference else launches)
            except _Failed as failure:
                errors.append(str(failure))
                ready.append(None)
        times = self._times(ready, trial.wait_ns, errors)
        if not self._is_gpu:
            return TrialResult(times, tuple(errors), tuple(wrong))
        quiet = tuple(None if spent is None else quietest(spent) for spent in times)
        return TrialResult(quiet, tuple(errors), tuple(wrong), () in quiet)

    def _buffer(self, wanted: TrialBuffer) -> cl.Buffer:
        buffer = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, max(wanted.nbytes, 1))
        if wanted.nbytes and wanted.layout is not None and wanted.output is None:
            values = random_values(wanted.layout, wanted.seed) if wanted.values is None else wanted.values
            units = wanted.layout.pack(values)
            cl.enqueue_copy(self._queue, buffer, np.ascontiguousarray(units))
        if wanted.zero:
            cl._cl._enqueue_fill_buffer(self._queue, buffer, np.zeros(1, np.uint8), 0, wanted.nbytes)
        return buffer

    def _ready(self, candidate: TrialCandidate, buffers: Sequence[cl.Buffer]) -> _Ready:
        try:
            programs = [self._program(job) for job in candidate.programs]
            return [(self._kernel(programs[launch.program], launch, buffers), launch) for launch in candidate.launches]
        except (BuildFailure, cl.Error) as error:
            raise _Failed(str(error)) from None

    def _program(self, job: BuildJob) -> cl._cl._Program:
        program = self._programs.pop(job, None) or compile_job(self._context, self._device, job)
        self._programs[job] = program
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

    def _results(self, trial: Trial, launches: _Ready, buffers: Sequence[cl.Buffer]) -> dict[int, _Result]:
        """What one run leaves in the outputs that it writes, by number."""
        used = {number for _, launch in launches for number in launch.buffers}
        outputs = [(buffer, known) for number, (buffer, known) in enumerate(zip(buffers, trial.buffers, strict=True))
                   if number in used and known.output is not None and known.nbytes]
        try:
            for buffer, known in outputs:
                cl._cl._enqueue_fill_buffer(self._queue, buffer, np.array([POISON], np.uint8), 0, known.nbytes)
            self._time(_batch(launches, 1))
            return {known.output: self._read(buffer, known) for buffer, known in outputs  # type: ignore[misc]
                    if known.layout is not None}
        except (cl.Error, driver.StatusError) as error:
            raise _Failed(str(error)) from None

    def _read(self, buffer: cl.Buffer, known: TrialBuffer) -> _Result:
        assert known.layout is not None
        raw = np.empty(known.nbytes, np.uint8)
        cl.enqueue_copy(self._queue, raw, buffer)
        return _Result(known.layout.element_type, known.layout.unpack(raw))

    def _times(self, ready: list[_Ready | None], wait_ns: float,
               errors: list[str]) -> tuple[tuple[float, ...] | None, ...]:
        """Nanoseconds of one run of each, in each round."""
        least = max(WAITS_IN_BATCH * wait_ns, LEAST_BATCH_NS)
        batches: list[tuple[_Batch, int] | None] = [None] * len(ready)
        times: list[list[float]] = [[] for _ in ready]
        end = 0.0
        for turn in range(MOST_SHARED + 1 if self._is_gpu else MOST_ROUNDS + 1):
            if turn == 1:
                end = monotonic() + ROUNDS_S
            if turn > LEAST_ROUNDS and (monotonic() > end or (self._is_gpu and _agree(times, ready))):
                break
            for number, launches in enumerate(ready):
                try:
                    if launches is None:
                        continue
                    if turn == 0:
                        took = self._clock(_batch(launches, 1))
                        count = min(max(ceil(least / max(took, 1)), 1), MOST_LAUNCHES)
                        batches[number] = _batch(launches, count), count
                    elif (batch := batches[number]) is not None:
                        times[number].append(self._clock(batch[0]) / batch[1])
                except (cl.Error, driver.StatusError) as error:
                    errors.append(str(error))
                    ready[number] = None
        return tuple(None if launches is None else tuple(spent) for launches, spent in zip(ready, times, strict=True))

    def _time(self, batch: _Batch) -> int:
        """Nanoseconds of a batch and one wait."""
        queue, enqueue = driver.HANDLE(self._queue.int_ptr), driver.enqueue_nd_range_kernel
        start = perf_counter_ns()
        for launch in batch:
            driver.check(enqueue(queue, *launch, 0, None, None))
        driver.check(driver.finish(queue))
        return perf_counter_ns() - start


@dataclass(frozen=True)
class _Result:
    """Logical values of an output."""

    element_type: ElementType
    values: np.ndarray


_Batch = list[Call]


def _batch(launches: _Ready, count: int) -> _Batch:
    """The arguments of the calls that launch everything so many times."""
    calls = []
    for kernel, launch in launches:
        rank = len(launch.global_size)
        local = None if launch.local_size is None else (ctypes.c_size_t * rank)(*launch.local_size)
        calls.append((driver.HANDLE(kernel.int_ptr), rank, None, (ctypes.c_size_t * rank)(*launch.global_size), local))
    return calls * count


def _agree(times: Sequence[Sequence[float]], ready: Sequence[_Ready | None]) -> bool:
    """Whether there are quiet rounds enough of each candidate that has not failed."""
    return all(quietest(spent) for spent, launches in zip(times, ready, strict=True) if launches is not None)


def quietest(times: Sequence[float]) -> tuple[float, ...]:
    """The times of the quietest rounds; none where these are apart as well.

    GPUs give processes their time in slices of milliseconds by turns. So beside another process some rounds take what
    they take, and others many times as long.
    """
    least = sorted(times)[:max(_QUIET, len(times) // 4)]
    return tuple(least) if least and least[-1] <= _QUIET_WITHIN * least[0] else ()


def random_values(layout: Layout, seed: int) -> np.ndarray:
    """Random values of a layout's type and shape, small enough to be summed up in it."""
    random, kind = np.random.default_rng(seed), layout.element_type
    values: np.ndarray
    if kind.is_float:
        values = random.uniform(-1, 1, _PERIOD)
    elif kind.name == "boolean":
        values = random.integers(0, 2, _PERIOD)
    else:
        low, high = (-7, 8) if kind.name.startswith("i") else (0, 16)
        values = random.integers(low, high, _PERIOD)
    return np.resize(values.astype(kind.numpy), layout.static_shape)


def _difference(found: dict[int, _Result], wanted: dict[int, _Result], may_jump: bool) -> str:
    """How results differ from those of the reference; empty if they are the same within the tolerance."""
    if found.keys() != wanted.keys():
        return f"it writes the outputs {sorted(found)} and not {sorted(wanted)}"
    for number, result in found.items():
        right = wanted[number]
        difference = apart(right.element_type, result.values, right.values, may_jump)
        if difference:
            return f"output {number}: {difference}"
    return ""


def _allowed(kind: ElementType, scale: float) -> float:
    """How far right results of a type may be apart, the largest of which is `scale`."""
    if kind.grid is not None:
        return _ROUNDED * kind.grid.step
    return TOLERANCE[kind.name] * scale if kind.is_float else float(kind.name != "boolean")


def apart(kind: ElementType, found: np.ndarray, wanted: np.ndarray, may_jump: bool) -> str:
    """How results differ from right ones of a type; empty if they are the same within the tolerance."""
    with np.errstate(all="ignore"):
        got, right = found.astype(np.float64), wanted.astype(np.float64)
        finite = np.isfinite(right)
        scale = float(np.abs(right[finite]).max(initial=0.0)) or 1.0
        allowed = _allowed(kind, scale)
        same = (got == right) | (np.isnan(got) & np.isnan(right)) | (finite & (np.abs(got - right) <= allowed))
        if same.all() or (may_jump and np.isfinite(got[~same]).all() and np.mean(~same) <= JUMPS):
            return ""
        worst = float(np.nanmax(np.where(same, 0.0, np.abs(got - right)), initial=0.0))
    return (f"{np.count_nonzero(~same)} of {same.size} elements differ, by up to {worst:.3g} at a scale of {scale:.3g}"
            f"{', or are not numbers' if np.isnan(got[finite]).any() else ''}")
