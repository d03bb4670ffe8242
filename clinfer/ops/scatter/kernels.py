"""Kernels of the scattering operations."""
from __future__ import annotations

import math
from dataclasses import replace

from clinfer.base.element_type import ElementType
from clinfer.base.format import Format
from clinfer.base.layout import LARGEST_INDEX
from clinfer.base.shape import Dim
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    Constant,
    Formats,
    Kernel,
    KernelTable,
    Lowered,
    Operand,
    Stage,
    input_operand,
    output_operand,
    scratch_operand,
)
from clinfer.kernels.cost import time_of
from clinfer.ops.scatter.problem import ScatterProblem
from clinfer.ops.shared.choices import numbered_choice
from clinfer.ops.shared.copying import LOCAL_SIZE, local_items, span_constants, span_dispatch
from clinfer.ops.shared.targets import cpu_only
from clinfer.ops.shared.view_copy import PACKAGE, raw_view
from clinfer.ops.shared.views import at_least_one_axis, static
from clinfer.runtime.capabilities import Capabilities
from clinfer.symbolic.symbols import larger, smaller

_COMBINE = {"none": ("b", "b"), "sum": ("(a) + (b)",) * 2, "mean": ("(a) + (b)",) * 2, "prod": ("(a) * (b)",) * 2,
            "min": ("fmin(a, b)", "min(a, b)"), "max": ("fmax(a, b)", "max(a, b)")}
"""How two updates of one element combine, for floats and for integers."""
_COUNT = ElementType.of("i32")
_FLOPS = 8
"""Of looking at one place."""


class Reference(Kernel[ScatterProblem, None]):
    """A work-item for each element looks at all places that may be its own."""

    name = "scatter_ref"
    supports_large = True

    def formats(self, problem: ScatterProblem) -> Formats:
        """Data and output in the data's format; the rest as it comes unless it is blocked."""
        data, *others = problem.inputs
        plain = tuple(Format.planar(x.rank) if x.format.blocks else x.format for x in others)
        return Formats((data.format, *plain), (data.format,))

    def supports(self, problem: ScatterProblem, config: None) -> str | None:
        """On a CPU the others take everything else, and of open sizes nobody knows how many updates there will be."""
        is_left_to_others = problem.runs_on_cpu and not (problem.is_static or problem.is_large)
        return "looks at all updates for each element, which may be many" if is_left_to_others else None

    def cost(self, problem: ScatterProblem, config: None) -> float:
        looks = problem.outputs[0].count * problem.walked
        return time_of(problem.capabilities.ceilings, flops=looks * _FLOPS, efficiency=self.efficiency,
                       nbytes=problem.moved_bytes, bandwidth=self.efficiency)

    def lower(self, problem: ScatterProblem, config: None) -> Lowered:
        constants = {**_places(problem), "USES_INITIAL": problem.primitive.uses_initial,
                     "COMBINE(a, b)": _combine(problem),
                     "FINISH(sum, count)": _finish(problem)}
        operands = (input_operand(problem, 0), input_operand(problem, 1, problem.indices()),
                    input_operand(problem, 2, problem.updates()), output_operand(problem))
        return Lowered((Stage("scatter_ref.cl", operands, local_items(problem.outputs[0].count), constants,
                              _arguments(problem)),))


class Claims(Reference):
    """Every place is claimed by its last update, then the elements ask who claimed them."""

    name = "scatter_claims"

    def supports(self, problem: ScatterProblem, config: None) -> str | None:
        return None if problem.primitive.combination == "none" else "made for updates that replace each other"

    def accepts(self, problem: ScatterProblem, config: None) -> str | None:
        """Slots count updates in 32 bits."""
        walked = problem.walked
        is_counted = not problem.is_large or (isinstance(walked, int) and walked <= LARGEST_INDEX)
        return None if is_counted else "more updates than slots count"

    def cost(self, problem: ScatterProblem, config: None) -> float:
        return time_of(problem.capabilities.ceilings, nbytes=problem.moved_bytes, bandwidth=self.efficiency, launches=3)

    def lower(self, problem: ScatterProblem, config: None) -> Lowered:
        slots, count, indices = scratch_operand(0, problem.slots), problem.slot_count, problem.indices(each_once=True)
        clear = Stage("scatter_clear.cl", (slots,), local_items(count), arguments={"slots": count})
        mark = Stage("scatter_mark.cl", (input_operand(problem, 1, indices), slots),
                     local_items(math.prod(static(indices.sizes))), _places(problem), _arguments(problem))
        write = Stage("scatter_write.cl", (
            input_operand(problem, 0, raw_view(TensorView.of(problem.inputs[0]))),
            input_operand(problem, 2, raw_view(problem.updates())), slots,
            output_operand(problem, 0, raw_view(TensorView.of(problem.outputs[0])))),
            local_items(problem.outputs[0].count),
            {"JOINT_RANK": problem.joint_rank, "UNRAVEL_WALKED(m, c)": _unravel_walked(problem, "INPUT2")})
        return Lowered((clear, mark, write), (count * 4,))


class Rows(Reference):
    """Updates are combined with the data in place, by one work-item for all that share their row."""

    name = "scatter_rows"

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)

    def supports(self, problem: ScatterProblem, config: None) -> str | None:
        primitive, kind = problem.primitive, problem.inputs[0].element_type
        if primitive.combination in ("none", "mean") or not primitive.uses_initial:
            return "made for updates that combine with the data"
        return f"{kind} is too narrow to combine in place" if kind.arithmetic != kind else None

    def cost(self, problem: ScatterProblem, config: None) -> float:
        return self._combining_time(problem, launches=2)

    def lower(self, problem: ScatterProblem, config: None) -> Lowered:
        source, target = (raw_view(at_least_one_axis(TensorView.of(x)))
                          for x in (problem.inputs[0], problem.outputs[0]))
        copy = Stage("copy_ref.cl", (input_operand(problem, 0, source), output_operand(problem, 0, target)),
                     span_dispatch(problem, static(target.sizes)), span_constants(problem), package=PACKAGE)
        return Lowered((copy, self._combine(problem, output_operand(problem))))

    def _combining_time(self, problem: ScatterProblem, launches: int) -> float:
        return time_of(problem.capabilities.ceilings, flops=problem.inputs[2].count * _FLOPS,
                       efficiency=self.efficiency, nbytes=problem.moved_bytes, launches=launches)

    def _combine(self, problem: ScatterProblem, *values: Operand) -> Stage:
        """Combines all updates with the values; with the counts behind them it counts the updates."""
        rank, updates = problem.inputs[0].rank, problem.updates(each_once=True)
        rows = math.prod(static(updates.sizes[:rank]))
        constants = {**_places(problem), "COMBINE(a, b)": _combine(problem), "COUNTED": len(values) > 1,
                     "UNRAVEL_ROW(i, c)": _unravel("i", "INPUT2", range(rank)),
                     "IS_WITHIN_OUTPUT(c)": _all_below("OUTPUT0", rank)}
        operands = (input_operand(problem, 1, problem.indices()), input_operand(problem, 2, updates), *values)
        group = LOCAL_SIZE if isinstance(rows, Dim) else larger(smaller(rows, LOCAL_SIZE), 1)
        return Stage("scatter_rows.cl", operands, local_items(rows, group), constants,
                     {**_arguments(problem), "rows": rows})


class CountedRows(Rows):
    """Updates are combined in memory of their own, as wide as they are computed, and counted there."""

    name = "scatter_counted_rows"

    def supports(self, problem: ScatterProblem, config: None) -> str | None:
        return "made for updates that combine" if problem.primitive.combination == "none" else None

    def cost(self, problem: ScatterProblem, config: None) -> float:
        held = problem.outputs[0].count * (problem.outputs[0].element_type.arithmetic.bits // 8 + 4)
        return self._combining_time(problem, launches=3) + time_of(
            problem.capabilities.ceilings, nbytes=4 * held, bandwidth=self.efficiency, launches=0)

    def lower(self, problem: ScatterProblem, config: None) -> Lowered:
        output = problem.outputs[0]
        held = tuple(TensorView.dense(kind, output.shape) for kind in (output.element_type.arithmetic, _COUNT))
        values, counts = map(scratch_operand, (0, 1), held)
        written = replace(values, macro="OUTPUT0")
        work, spans = span_dispatch(problem, static(held[0].sizes)), span_constants(problem)
        begin = Stage("scatter_begin.cl", (input_operand(problem, 0), written, counts), work,
                      {**spans, "USES_INITIAL": problem.primitive.uses_initial})
        finish = Stage("scatter_finish.cl", (replace(values, macro="INPUT0"), counts, output_operand(problem)), work,
                       {**spans, "FINISH(sum, count)": _finish(problem)})
        return Lowered((begin, self._combine(problem, written, counts), finish),
                       tuple(view.element_type.byte_size(output.count) for view in held))


def _places(problem: ScatterProblem) -> dict[str, Constant]:
    """How places are looked up."""
    rank, count = problem.inputs[0].rank, max(problem.index_count, 1)
    return {"JOINT_RANK": problem.joint_rank, "INDEX_COUNT": problem.index_count,
            "UNRAVEL_WALKED(m, c)": _unravel_walked(problem, "INPUT1"),
            "IS_INSIDE(c)": _all_below("INPUT1", rank), "IS_WITHIN(c)": _all_below("SCRATCH0", rank),
            "AXIS(n)": numbered_choice("ARG_AXIS", count), "AXIS_SIZE(n)": numbered_choice("ARG_AXIS_SIZE", count)}


def _arguments(problem: ScatterProblem) -> dict[str, int]:
    """The axes looked up and their sizes, the pitch from index to index of a place, the length of the walk."""
    places, count = problem.places, max(problem.index_count, 1)
    found = {f"{what}_{n}": 0 for n in range(count) for what in ("axis", "axis_size")}
    found |= {"tuple_pitch": 0, "walked": 0}
    if places is None:
        return found
    found["walked"] = problem.walked
    for number, axis in enumerate(places.looked_up):
        found[f"axis_{number}"] = axis
        found[f"axis_size_{number}"] = problem.outputs[0].shape[axis]  # type: ignore[assignment]
    if places.tuple_axis is not None:
        found["tuple_pitch"] = TensorView.of(problem.inputs[1]).pitches[places.tuple_axis]  # type: ignore[assignment]
    return found


def _combine(problem: ScatterProblem) -> str:
    for_floats, for_integers = _COMBINE[problem.primitive.combination]
    return f"({for_floats if problem.inputs[0].element_type.is_float else for_integers})"


def _finish(problem: ScatterProblem) -> str:
    return "((count) ? (sum) / (count) : (sum))" if problem.primitive.combination == "mean" else "(sum)"


def _unravel_walked(problem: ScatterProblem, operand: str) -> str:
    return _unravel("m", operand, range(problem.inputs[0].rank, problem.joint_rank))


def _unravel(number: str, operand: str, axes: range) -> str:
    steps = [f"(c)[{axis}] = n_ % {operand}_SIZE_{axis}; n_ /= {operand}_SIZE_{axis};" for axis in reversed(axes)]
    return f"do {{ index_t n_ = ({number}); {' '.join(steps)} }} while (0)"


def _all_below(operand: str, rank: int) -> str:
    return "(" + " && ".join([f"(c)[{a}] < {operand}_SIZE_{a}" for a in range(rank)] or ["true"]) + ")"


KERNELS = KernelTable((Claims(), Rows(), CountedRows(), Reference()), ScatterProblem)
