"""The kernel selector: picks the fastest kernels of a table and says why every other was passed over.

What it compares is estimated time. Where sizes are open, it asks for the times of samples, problems whose sizes may
well come: what is the fastest for one of them by a clear margin is built too, and each shape takes what is fastest
for it of what was built.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from clinfer.base.errors import ClinferError
from clinfer.base.format import Format
from clinfer.base.shape import Size, admits
from clinfer.kernels.contract import Candidate, Formats, Kernel, KernelTable, Problem
from clinfer.kernels.cost import show_time
from clinfer.kernels.tuned import believed, refuse_unknown, wrong_results


@dataclass(frozen=True)
class Forced:
    """A demand on one primitive: output format, kernel's name and implementation type, each empty for "any".

    The kernel's name is that of a candidate, or of a kernel in whichever configuration is best.
    """

    format: str = ""
    kernel: str = ""
    type: str = ""


ANYTHING = Forced()
ALIKE = 2.0
"""Formats in which a primitive takes less than so many times what it takes in the best are alternatives: the reorders
around it decide."""
FAR_SLOWER = 2.0
"""Others are alternatives, too, where the best takes more than so many times as long as they do for a larger sample."""
CLEAR_MARGIN = 1.15
"""How many times faster than what is built already a kernel must be for some sizes to be built as well."""
ACCEPTS_NONE_OF_THEM = "accepts none of the sizes that are likely"
NONE_REFUSED: Mapping[str, str] = MappingProxyType({})
STANDS_IN, NAMED = -1, -2
USUAL_SIZE = 64
"""Of an axis whose size is open, where nothing better is known."""


@dataclass(frozen=True)
class Selection:
    """The candidates that are built for one primitive, and the formats that all of them work on.

    The first is the fastest for the usual sizes; of several, each shape takes the fastest that accepts it, and one of
    them accepts every shape. `rejected` pairs the name of every other candidate with the reason. `costs`: the
    nanoseconds of every candidate that supports the primitive and accepts likely sizes, fastest first. `why`: what the
    first one was chosen for; `is_forced`: by a demand. `cost`: its nanoseconds for the usual sizes. `samples`: of each
    candidate the number of the sample for which it was taken, `NAMED` for sizes that a kernel named (or a number beyond
    those given), or `STANDS_IN` for what others do not accept. `sample_costs`: of each sample that was given the
    nanoseconds of the fastest candidate in these formats; infinite if none accepts it.
    """

    candidates: tuple[Candidate, ...]
    formats: Formats
    problem: Problem
    rejected: tuple[tuple[str, str], ...]
    costs: tuple[tuple[str, float], ...] = ()
    why: str = ""
    is_forced: bool = False
    cost: float = 0.0
    samples: tuple[int, ...] = ()
    sample_costs: tuple[float, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Judgement:
    """What became of a candidate: the problem in its formats, why it is refused, and its nanoseconds for each sample
    (None: it does not accept the sample). `takes_all`: it accepts every shape that can come."""

    candidate: Candidate
    problem: Problem
    formats: Formats
    refusal: str | None = None
    costs: tuple[float | None, ...] = ()
    takes_all: bool = False

    @cached_property
    def usual(self) -> float:
        """The nanoseconds for the first sample that it accepts; infinite if it accepts none."""
        return next((cost for cost in self.costs if cost is not None), float("inf"))


Judged = dict[tuple[Candidate, Formats], Judgement]


def select(table: KernelTable, problem: Problem, forced: Forced = ANYTHING,
           samples: Sequence[Problem] = (), refused: Mapping[str, str] = NONE_REFUSED) -> Selection:
    """The best of a table's kernels, with those that stand in for it; ClinferError with every reason if none
    remains. `samples`, `refused`: see `alternatives`."""
    return alternatives(table, problem, forced, samples, refused=refused)[0]


def alternatives(table: KernelTable, problem: Problem, forced: Forced = ANYTHING,
                 samples: Sequence[Problem] = (), judged: Judged | None = None,
                 refused: Mapping[str, str] = NONE_REFUSED) -> tuple[Selection, ...]:
    """For each choice of formats that takes less than `ALIKE` times as long as the best, or is far faster for a larger
    sample: its candidates; best first.
    ClinferError with every reason if no kernel remains.

    `samples`: static problems of the same primitive, the usual sizes first; by default one of `USUAL_SIZE`.
    `judged`: what was found out already with the inputs in other formats; what is new is added. `refused`: why
    candidates of these names are out of the question.
    """
    if forced.format:
        problem = _inputs_towards(problem, Format.of(forced.format))
    is_padded = any(layout.padding for layout in problem.inputs)
    found = _judge(table, problem, forced, samples or _usual(problem), {} if judged is None or is_padded else judged,
                   refused)
    groups: dict[Formats, list[Judgement]] = {}
    for judgement in found:
        if judgement.refusal is None:
            groups.setdefault(judgement.formats, []).append(judgement)
    selections = [_selection(asked, members, found, forced) for members in groups.values()
                  if any(member.takes_all for member in members) and (asked := _asked(members, forced))]
    if not selections:
        raise _nothing(found, problem, forced)
    selections.sort(key=lambda selection: selection.cost)
    best = selections[0]
    return tuple(each for each in selections if each is best or each.cost < ALIKE * best.cost or any(
        FAR_SLOWER * own < other > best.cost
        for own, other in zip(each.sample_costs, best.sample_costs, strict=False)))


def cheapest(candidates: Sequence[Candidate], problem: Problem) -> int:
    """The number of the candidate that takes least time for a problem that is decided, among those that accept it;
    -1: none does."""
    if len(candidates) == 1 and candidates[0].accepts(problem) is None:
        return 0
    best, least = -1, 0.0
    for number, candidate in enumerate(candidates):
        if candidate.accepts(problem) is None:
            cost = candidate.cost(problem)
            if best < 0 or cost < least:
                best, least = number, cost
    return best


def is_able(candidate: Candidate, wanted: Problem) -> bool:
    """Whether a candidate can compute a problem that comes in its formats, whatever its open sizes are."""
    return _general_refusal(candidate.kernel, wanted, ANYTHING) is None and candidate.supports(wanted) is None


def _judge(table: KernelTable, problem: Problem, forced: Forced, samples: Sequence[Problem],
           judged: Judged, refused: Mapping[str, str]) -> list[Judgement]:
    refuse_unknown(table, problem)
    found = []
    seen: dict[Formats, tuple[Problem, tuple[Problem, ...]]] = {}
    for kernel in table.kernels:
        formats = kernel.formats(problem)
        if formats not in seen:
            # Kernels that want the same formats share what a problem computes of its geometry.
            wanted = problem.in_formats(formats)
            likely = tuple(wanted if sample is problem else wanted.with_shapes(sample) for sample in samples)
            seen[formats] = wanted, likely + _missing(table, formats, wanted, likely, forced)
        wanted, likely = seen[formats]
        refusal = _general_refusal(kernel, wanted, forced)
        for config in kernel.configs(wanted):
            candidate = Candidate(kernel, config)
            if (candidate, formats) not in judged:
                reason = (refusal or refused.get(candidate.name)
                          or wrong_results(candidate, wanted, table.kernels[-1]))
                judged[candidate, formats] = _judge_one(candidate, wanted, formats, reason, likely)
            found.append(judged[candidate, formats])
    return found


def _missing(table: KernelTable, formats: Formats, wanted: Problem, likely: tuple[Problem, ...],
             forced: Forced) -> tuple[Problem, ...]:
    """Samples for kernels that support an open problem in these formats and accept none of the likely sizes."""
    if wanted.is_static or not likely:
        return ()
    found: list[Problem] = []
    for kernel in table.kernels:
        if kernel.formats(wanted) != formats or _general_refusal(kernel, wanted, forced) is not None:
            continue
        for config in kernel.configs(wanted):
            samples, candidate = (*likely, *found), Candidate(kernel, config)
            if candidate.supports(wanted) is not None or any(
                    not sample.is_decided or candidate.accepts(sample) is None for sample in samples):
                continue
            sample = kernel.accepted_like(likely[0], config)
            if sample is not None and _may_come(wanted, sample) and candidate.accepts(sample) is None:
                found.append(sample)
    return tuple(found)


def _may_come(wanted: Problem, sample: Problem) -> bool:
    """Whether the sizes of a sample lie within the bounds of an open problem."""
    return all(admits(declared.shape, layout.static_shape)
               for declared, layout in zip(wanted.all_inputs + wanted.outputs, sample.all_inputs + sample.outputs,
                                           strict=True))


def _general_refusal(kernel: Kernel[Any, Any], wanted: Problem, forced: Forced) -> str | None:
    """What keeps all configurations of a kernel from a problem in its formats."""
    if forced.format and all(x.format.name != forced.format for x in wanted.outputs):
        return f"output format {forced.format} is forced"
    if any(x.element_type.is_packed for x in wanted.outputs) and not kernel.writes_packed:
        return "4-bit outputs"
    if any(x.format.is_image for x in wanted.inputs) and not kernel.reads_images:
        return "reads no images"
    if wanted.is_large and not kernel.supports_large:
        return "indexes with 32 bits"
    if wanted.primitive.fused_ops and not kernel.has_epilogue:
        return "applies no fused operations"
    return kernel.targets(wanted.capabilities)


def _judge_one(candidate: Candidate, wanted: Problem, formats: Formats, refusal: str | None,
               likely: Sequence[Problem]) -> Judgement:
    reason = refusal or candidate.supports(wanted)
    if reason is None and wanted.is_decided:
        reason = candidate.accepts(wanted)
    if reason is not None:
        return Judgement(candidate, wanted, formats, reason)
    costs = tuple(_sample_cost(candidate, sample) for sample in likely)
    return Judgement(candidate, wanted, formats, None, costs, candidate.accepts(wanted) is None)


def _sample_cost(candidate: Candidate, sample: Problem) -> float | None:
    if sample.is_decided and candidate.accepts(sample) is not None:
        return None
    return believed(candidate, sample)


def _asked(members: Sequence[Judgement], forced: Forced) -> list[Judgement]:
    """Those among which a demand lets choose."""
    return [each for each in members
            if forced.kernel in ("", each.candidate.name, each.candidate.kernel.name)]


def _selection(asked: Sequence[Judgement], members: Sequence[Judgement], found: Sequence[Judgement],
               forced: Forced) -> Selection:
    """The candidates of one choice of formats, which others of its `members` stand in for where those `asked` for
    do not accept a shape."""
    chosen: list[Judgement] = []
    taken: list[int] = []
    for number in range(len(members[0].costs)):
        ladder = _ladder(asked, number)
        if not ladder or ladder[0] in chosen:
            continue
        built = [cost for judgement in chosen if (cost := judgement.costs[number]) is not None]
        least = ladder[0].costs[number]
        if not built or (least is not None and min(built) > CLEAR_MARGIN * least):
            new = [judgement for judgement in ladder if judgement not in chosen]
            chosen += new
            taken += [number, *[STANDS_IN] * (len(new) - 1)]
    chosen = chosen or list(asked)
    taken = taken or [STANDS_IN] * len(chosen)
    if not any(judgement.takes_all for judgement in chosen):
        chosen.append(min((each for each in members if each.takes_all), key=lambda each: each.usual))
        taken.append(STANDS_IN)
    best = chosen[0]
    supported = sorted((each for each in found if each.usual < float("inf")), key=lambda each: each.usual)
    reasons = tuple((each.candidate.name, each.refusal or _passed_over(each, best, members))
                    for each in found if each not in chosen)
    return Selection(tuple(each.candidate for each in chosen), best.formats, best.problem, reasons,
                     tuple((each.candidate.name, each.usual) for each in supported), _why(best, supported, forced),
                     forced != ANYTHING, best.usual, tuple(taken),
                     tuple(min((cost for each in asked if (cost := each.costs[number]) is not None),
                               default=float("inf")) for number in range(len(best.costs))))


def _ladder(members: Sequence[Judgement], number: int) -> list[Judgement]:
    """What to build for a sample: the fastest, and what stands in for it, up to what accepts every shape."""
    able = [(cost, each) for each in members if (cost := each.costs[number]) is not None]
    able.sort(key=lambda pair: pair[0])
    last = next((place for place, (_, each) in enumerate(able) if each.takes_all), len(able) - 1)
    return [each for _, each in able[:last + 1]]


def _passed_over(other: Judgement, best: Judgement, members: Sequence[Judgement]) -> str:
    if all(other is not member for member in members):
        return f"works on other formats than {best.candidate.name}"
    if other.usual == float("inf"):
        return ACCEPTS_NONE_OF_THEM
    return f"{show_time(other.usual)} against {show_time(best.usual)} of {best.candidate.name}"


def _why(best: Judgement, supported: Sequence[Judgement], forced: Forced) -> str:
    demand = (f"kernel {forced.kernel}" if forced.kernel else f"output format {forced.format}" if forced.format else
              f"implementation type {forced.type}" if forced.type else "")
    if demand:
        return f"{demand} is forced"
    if len(supported) == 1:
        return "the only kernel that supports it"
    fastest = supported[0]
    if best.usual > fastest.usual:
        return (f"its formats, at {show_time(best.usual)}; {fastest.candidate.name} takes "
                f"{show_time(fastest.usual)}")
    return f"the least time ({show_time(best.usual)}) of {len(supported)} kernels that support it"


def _nothing(found: Sequence[Judgement], problem: Problem, forced: Forced) -> ClinferError:
    reasons = {each.candidate.name: each.refusal or "accepts some shapes only" for each in found}
    if forced.kernel:
        names = ", ".join(each.candidate.name for each in found)
        return ClinferError(f"the forced kernel {forced.kernel!r} cannot be used", where=problem.primitive.where,
                            values={"kernels": names, **reasons}, hint="force another kernel, or none")
    if any(each.refusal is None for each in found):
        return ClinferError("no kernel of the table accepts every shape", where=problem.primitive.where,
                            values={"kernels": ", ".join(reasons), **reasons})
    return ClinferError("no kernel supports this primitive", where=problem.primitive.where,
                        values={"inputs": ", ".join(map(str, problem.inputs)),
                                "outputs": ", ".join(map(str, problem.outputs)), **reasons},
                        hint="remove the forced kernel" if forced != ANYTHING else "change what the reasons name")


def _inputs_towards(problem: Problem, fmt: Format) -> Problem:
    """As if the inputs of the first output's rank came in a format already: kernels that follow them follow it."""
    rank = problem.outputs[0].rank
    if not fmt.fits(rank):
        raise ClinferError(f"the forced format {fmt} does not fit", where=problem.primitive.where,
                           values={"output": problem.outputs[0]}, hint="force another format, or none")
    following = [i not in problem.primitive.value_inputs and x.rank == rank and i != problem.primitive.weights_input
                 for i, x in enumerate(problem.inputs)]
    formats = tuple(fmt if follows else x.format for follows, x in zip(following, problem.inputs, strict=True))
    return problem.in_formats(Formats(formats, tuple(x.format for x in problem.outputs)))


def _usual(problem: Problem) -> tuple[Problem, ...]:
    """The problem itself if it is static, else with `USUAL_SIZE` for every open size, within its bounds."""
    if problem.is_static:
        return (problem,)

    def size(given: Size) -> int:
        return given if isinstance(given, int) else min(max(given.low, USUAL_SIZE), given.high)

    def sized(layouts: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(layout.with_shape(tuple(map(size, layout.shape))) for layout in layouts)
    return (replace(problem, inputs=sized(problem.inputs), outputs=sized(problem.outputs),
                    fused_inputs=sized(problem.fused_inputs)),)
