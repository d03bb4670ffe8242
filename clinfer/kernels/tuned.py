"""What tables of measured times (`clinfer/tuning/`) say of candidates: the one place where the two meet.

A time overrules an estimate and nothing else. It is found by what a problem is, as a text that holds for all sizes and
devices (`subject_of`), by the candidate (`variant_of`) and by `Problem.sizes`.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clinfer.base.layout import Layout
from clinfer.kernels.cost import roofline, show_time
from clinfer.symbolic.symbols import computed
from clinfer.topology.primitive import attributes_of
from clinfer.tuning.database import Database, database_of, uses_times
from clinfer.tuning.entry import Entry, Subject, Variant

if TYPE_CHECKING:
    from clinfer.kernels.contract import Candidate, Kernel, KernelTable, Problem

FASTEST = 0.5
"""The part of the roofline below which a time is not believed. A ceiling that was measured beside other work may be
half of what it should be."""


def subject_of(problem: Problem) -> Subject:
    """What a problem is, whatever its sizes: `MatMul`, `f32[2] f32[2] > f32[2] transpose_b=True`."""
    primitive = problem.primitive
    attributes = "".join(f" {name}={_shown(value)}" for name, value in attributes_of(primitive) if _counts(value))
    return Subject(type(primitive).__name__, f"{_types(problem.inputs)} > {_types(problem.outputs)}{attributes}")


def variant_of(candidate: Candidate, problem: Problem, is_baked: bool = False) -> Variant:
    """How a candidate computes a problem that is in its formats."""
    layouts = problem.inputs + problem.outputs
    formats = "" if all(x.format.is_planar for x in layouts) else " ".join(x.format.name for x in layouts)
    return Variant(candidate.kernel.name, candidate.config_text, formats, is_baked)


def corrected(estimate: float, candidate: Candidate, problem: Problem) -> float:
    """The estimate times what was measured in proportion to what had been estimated, for the nearest known sizes; on
    symbols this is one line."""
    database = _database(problem)
    if database is None or not database.knows(type(problem.primitive).__name__):
        return estimate
    ratio = database.ratio(problem.subject, variant_of(candidate, problem))
    return estimate if ratio is None else estimate * computed(ratio, *problem.sizes.values())


def believed(candidate: Candidate, sample: Problem) -> float:
    """The cost of a static problem in a candidate's formats, with an end to measured times that are too good to be
    true: faster than the device is."""
    estimate = candidate.estimate(sample)
    cost = corrected(estimate, candidate, sample)
    database = _database(sample)
    if database is None or cost >= estimate or cost >= FASTEST * cached_roofline(sample):
        return cost
    variant = variant_of(candidate, sample)
    if variant not in database.variants(sample.subject):
        return cost
    database.refuse(sample.subject, variant,
                    f"they amount to {show_time(cost)}, and the device takes {show_time(cached_roofline(sample))}")
    return believed(candidate, sample)


def measured(candidate: Candidate, problem: Problem) -> Entry | None:
    """What was measured of a candidate for a static problem in its formats, or for one in the same bucket."""
    database = _database(problem)
    if database is None or not database.knows(type(problem.primitive).__name__):
        return None
    return database.entry(problem.subject, problem.sizes, variant_of(candidate, problem))


def wrong_results(candidate: Candidate, problem: Problem, reference: Kernel[Any, Any]) -> str | None:
    """Why a candidate is not used on this device, if it was seen to be wrong there. The reference, with which all are
    compared, is always used."""
    if candidate.kernel is reference:
        return None
    operation = type(problem.primitive).__name__
    return database_of(problem.capabilities.hardware).why_wrong(operation, candidate.kernel.name,
                                                                candidate.config_text)


def refuse_unknown(table: KernelTable, problem: Problem) -> None:
    """Use no times of kernels and configurations that are there no more, and say which."""
    database = _database(problem)
    if database is None or not database.knows(type(problem.primitive).__name__):
        return
    variants = database.variants(problem.subject)
    if not variants:
        return
    names = {kernel.name for kernel in table.kernels}
    known = {(candidate.kernel.name, candidate.config_text) for candidate in table.candidates(problem)}
    for variant in sorted(variants):
        if variant[:2] not in known:
            what = "configuration" if variant.kernel in names else "kernel"
            database.refuse(problem.subject, variant, f"there is no such {what}")


def problem_roofline(problem: Problem) -> float:
    """The nanoseconds below which no kernel gets with a static problem."""
    return roofline(problem.capabilities.ceilings, problem.flops, problem.moved_bytes, _is_narrow(problem))


def cached_roofline(problem: Problem) -> float:
    """The same where all tensors lie in the caches already."""
    ceilings = problem.capabilities.ceilings
    return max(roofline(ceilings, problem.flops, 0, _is_narrow(problem)), problem.moved_bytes / ceilings.cache)


def _database(problem: Problem) -> Database | None:
    return database_of(problem.capabilities.hardware) if uses_times() else None


def _is_narrow(problem: Problem) -> bool:
    return any(x.element_type.bits < 32 for x in problem.inputs + problem.outputs)


def _types(layouts: Sequence[Layout]) -> str:
    return " ".join(f"{x.element_type.macro}[{x.rank}]" for x in layouts)


def _counts(value: object) -> bool:
    """Whether an attribute is plain data that tells one problem from another."""
    if isinstance(value, tuple):
        return all(isinstance(each, int | float | str) for each in value) and len(value) > 0
    return isinstance(value, int | float | str) and value not in (0, "")


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
