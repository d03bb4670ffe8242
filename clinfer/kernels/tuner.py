"""Tuning tasks: which candidates are timed for a problem, as a trial for a helper process (`runtime/trial.py`), and
what becomes of its result in the tables of measured times.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.base.tracing import warn_once
from clinfer.base.version import VERSION
from clinfer.kernels.contract import COUNTERS_BYTES, BufferRef, Candidate, KernelTable, Problem
from clinfer.kernels.implementation import Implementation, bind, generate
from clinfer.kernels.kernel_cache import KernelCache, by_recipe
from clinfer.kernels.refused_kernels import KernelBuildError
from clinfer.kernels.selector import is_able
from clinfer.kernels.tuned import believed, subject_of, variant_of, wrong_results
from clinfer.runtime.helper import Helper
from clinfer.runtime.trial import Trial, TrialBuffer, TrialCandidate, TrialLaunch, TrialResult, random_values
from clinfer.tuning.database import database_of, today
from clinfer.tuning.entry import Entry
from clinfer.tuning.table import WrongKernel

LARGEST_TRIAL = 1 << 30
"""Bytes of all buffers of a trial."""
TIMEOUT_S = 300.0
FAR_OFF = 30.0
"""What is estimated to take so many times as long as the best is not timed."""


def able_candidates(table: KernelTable, problem: Problem, kernels: KernelCache | None = None) -> list[Candidate]:
    """The candidates that compute a static problem, each in its own formats, and are not known to be wrong, nor, as
    `kernels` tell, to be what the driver cannot build."""
    found = []
    for candidate in table.candidates(problem):
        wanted = candidate.in_own_formats(problem)
        if (is_able(candidate, wanted) and candidate.accepts(wanted) is None
                and wrong_results(candidate, wanted, table.kernels[-1]) is None
                and (kernels is None or kernels.refused.is_empty or not _is_refused(candidate, wanted, kernels))):
            found.append(candidate)
    return found


def _is_refused(candidate: Candidate, wanted: Problem, kernels: KernelCache) -> bool:
    return any(kernels.refusal(stage.code) for stage in generate(candidate, wanted).stages)


def worth_timing(able: Sequence[Candidate], problem: Problem) -> list[Candidate]:
    """Those of the able candidates that may be the fastest, the least estimate first."""
    times = [(candidate.estimate(candidate.in_own_formats(problem)), candidate) for candidate in able]
    times.sort(key=lambda pair: pair[0])
    return [candidate for time, candidate in times if time <= FAR_OFF * times[0][0]]


def reference_of(able: Sequence[Candidate], problem: Problem) -> Implementation:
    """The kernel with which others are compared: the last of the able candidates. Errors: ClinferError where there is
    none."""
    if not able:
        raise ClinferError("no kernel computes it", where=problem.primitive.where)
    return generate(able[-1], able[-1].in_own_formats(problem))


@dataclass(frozen=True)
class Tuned:
    """What timing a problem told: the nanoseconds of each candidate by name, fastest first; the one that would be
    chosen without; what went wrong."""

    times: tuple[tuple[str, float], ...]
    chosen: str
    errors: tuple[str, ...] = ()


def is_tuned(table: KernelTable, problem: Problem, kernels: KernelCache | None = None) -> bool:
    """Whether every candidate that may be the fastest was timed on this device with nothing else running."""
    entries = _own_entries(worth_timing(able_candidates(table, problem, kernels), problem), problem)
    return all(entry is not None and entry.is_alone for entry in entries)


def tune(table: KernelTable, problem: Problem, kernels: KernelCache, helper: Helper, driver: str) -> Tuned:
    """Time what may be the fastest for a static problem and keep it; of what the driver cannot build, that it cannot,
    and then others are timed. Errors: ClinferError, HelperFailure."""
    able = able_candidates(table, problem, kernels)
    reference = reference_of(able, problem)
    chosen = min(able, key=lambda each: believed(each, each.in_own_formats(problem)))
    candidates = [generate(candidate, candidate.in_own_formats(problem)) for candidate in worth_timing(able, problem)]
    trial = trial_of(candidates, problem, reference, kernels)
    result = usable(helper.request(("trial", trial), TIMEOUT_S), problem.primitive.where)
    keep_result(candidates, problem, result, driver, is_alone=True)
    wrong_ones = {number for number, _ in result.wrong}
    refused = _refused([each for number, (each, spent) in enumerate(zip(candidates, result.times, strict=True))
                        if spent is None and number not in wrong_ones], kernels)
    if refused:
        others = tune(table, problem, kernels, helper, driver)
        told = (f"{name}: {why}" for name, why in refused.items())
        return replace(others, chosen=others.chosen if chosen.name in refused else chosen.name,
                       errors=(*told, *others.errors))
    times = sorted(((each.name, median(spent)) for each, spent in zip(candidates, result.times, strict=True) if spent),
                   key=lambda pair: pair[1])
    wrong = (f"{candidates[number].name}: {why}" for number, why in result.wrong)
    return Tuned(tuple(times), chosen.name, (*result.errors, *wrong))


def _refused(failed: Sequence[Implementation], kernels: KernelCache) -> dict[str, str]:
    """Of candidates that could not be timed those that the driver cannot build, by name with its reasons; other
    processes know of them from now on."""
    refused = {}
    for implementation in failed:
        try:
            kernels.prepare(stage.code for stage in implementation.stages)
        except KernelBuildError as error:
            kernels.refused.keep(error.values)
            refused[implementation.name] = str(next(iter(error.values.values())))
    return refused


def usable(result: TrialResult | None, where: str) -> TrialResult:
    """What a helper told of a trial. Errors: ClinferError where that is nothing."""
    if result is None:
        raise ClinferError("the device has no room to time kernels", where=where)
    if result.is_disturbed:
        raise ClinferError("the device is too busy to time kernels", where=where,
                           hint="end what else runs on it, and call it again: what was measured stays")
    return result


def _own_entries(candidates: Sequence[Candidate], problem: Problem) -> Iterator[Entry | None]:
    """What was measured of candidates for a problem on this very device."""
    database = database_of(problem.capabilities.hardware)
    for candidate in candidates:
        own = candidate.in_own_formats(problem)
        yield database.own_entry(subject_of(own), own.sizes, variant_of(candidate, own))


def trial_of(candidates: Sequence[Implementation], problem: Problem, reference: Implementation,
             kernels: KernelCache) -> Trial:
    """The trial of implementations on static layouts. Errors: ClinferError where its buffers are too large."""
    sizes: dict[tuple[BufferRef, Layout | None], int] = {}
    parts = [_part(implementation, problem, kernels, sizes) for implementation in (*candidates, reference)]
    if sum(sizes.values()) > LARGEST_TRIAL:
        raise ClinferError("its buffers are too large for a trial", values={
            "bytes": sum(sizes.values()), "most": LARGEST_TRIAL})
    inputs = problem.all_inputs
    given = problem.primitive.trial_inputs(inputs, lambda index: random_values(inputs[index], index))
    buffers = tuple(TrialBuffer(nbytes, layout, ref.index, ref.index if ref.kind == "output" else None,
                                ref.kind == "counters", given.get(ref.index) if ref.kind == "input" else None)
                    for (ref, layout), nbytes in sizes.items())
    return Trial(tuple(parts[:-1]), buffers, parts[-1], problem.capabilities.ceilings.wait,
                 bool(problem.primitive.fused_ops))


def _part(implementation: Implementation, problem: Problem, kernels: KernelCache,
          sizes: dict[tuple[BufferRef, Layout | None], int]) -> TrialCandidate:
    """One candidate of a trial; the buffers that it needs are added to `sizes`."""
    own = implementation.candidate.in_own_formats(problem)
    lowered = implementation.candidate.lower(own)
    programs = by_recipe(stage.code for stage in implementation.stages)
    launches = []
    for part, launch in zip(implementation.stages, bind(implementation, own, lowered), strict=True):
        numbers = []
        for buffer in part.buffers:
            layout, nbytes = _buffer(buffer, own, lowered.scratch)
            sizes[buffer, layout] = max(nbytes, sizes.get((buffer, layout), 0))
            numbers.append(list(sizes).index((buffer, layout)))
        if 0 not in launch.work.global_size:
            program = next(number for number, codes in enumerate(programs) if part.code in codes)
            launches.append(TrialLaunch(program, launch.kernel_id, tuple(numbers), launch.block,
                                        launch.work.global_size, launch.work.local_size))
    return TrialCandidate(tuple(map(kernels.job, programs)), tuple(launches))


def _buffer(buffer: BufferRef, problem: Problem, scratch: Sequence[int]) -> tuple[Layout | None, int]:
    """The layout (of scratch and counters: none) and the bytes of a buffer."""
    if buffer.kind == "scratch":
        return None, scratch[buffer.index]
    if buffer.kind == "counters":
        return None, COUNTERS_BYTES
    layout = (problem.all_inputs if buffer.kind == "input" else problem.outputs)[buffer.index]
    return layout, layout.byte_size


def known_result(candidates: Sequence[Implementation], problem: Problem) -> TrialResult | None:
    """The result that a trial had before, on this very device and driver; None: something was not tried."""
    database = database_of(problem.capabilities.hardware)
    times = []
    for implementation in candidates:
        own = implementation.candidate.in_own_formats(problem)
        entry = database.own_entry(subject_of(own), own.sizes,
                                   variant_of(implementation.candidate, own, implementation.is_baked))
        if entry is None:
            return None
        times.append((entry.measured,))
    return TrialResult(tuple(times))


def keep_result(candidates: Sequence[Implementation], problem: Problem, result: TrialResult, driver: str,
                is_alone: bool) -> tuple[Entry, ...]:
    """Keep a result in the device's table, and tell of kernels whose results were wrong; what was added.

    Where two kernels or more have other results than the reference and none has the same, it is the reference that
    is in doubt: nothing is kept then.
    """
    kernels = {candidates[number].candidate.kernel.name for number, _ in result.wrong}
    if len(kernels) > 1 and not any(result.times):
        warn_once(f"clinfer cannot tell which kernels of {type(problem.primitive).__name__} are right on this device: "
                  f"{', '.join(sorted(kernels))} differ from the reference ({result.wrong[0][1]})")
        return ()
    entries = tuple(_entry(implementation, problem, median(times), driver, is_alone)
                    for implementation, times in zip(candidates, result.times, strict=True) if times)
    wrong = [_wrong(candidates[number].candidate, problem, why) for number, why in result.wrong]
    database_of(problem.capabilities.hardware).add(entries, wrong)
    for row in wrong:
        name = f"{row.kernel} {row.config}".strip()
        warn_once(f"clinfer does not use the kernel {name} of {row.operation} on {problem.capabilities.hardware.name} "
                  f"any more, because it gives wrong results there: {row.why}")
    return entries


def _wrong(candidate: Candidate, problem: Problem, why: str) -> WrongKernel:
    return WrongKernel(type(problem.primitive).__name__, candidate.kernel.name, candidate.config_text, why, today(),
                       VERSION)


def _entry(implementation: Implementation, problem: Problem, measured: float, driver: str, is_alone: bool) -> Entry:
    own = implementation.candidate.in_own_formats(problem)
    subject, variant = subject_of(own), variant_of(implementation.candidate, own, implementation.is_baked)
    return Entry(subject.operation, subject.traits, tuple(own.sizes.items()), variant.kernel, variant.config,
                 variant.formats, variant.is_baked, measured, implementation.candidate.estimate(own), is_alone,
                 today(), driver)
