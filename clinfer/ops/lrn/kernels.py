"""Kernels of LRN."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from clinfer.base.layout import Layout
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    Constant,
    Formats,
    Kernel,
    KernelTable,
    Lowered,
    Problem,
    Stage,
    Work,
    input_operand,
    output_operand,
    planar_formats,
    present_formats,
)
from clinfer.kernels.jitter import literal
from clinfer.ops.lrn.op import LRN
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.reduction import Axes, normalized_axes
from clinfer.ops.shared.views import static

RUN = 256
"""Neighbours that one work-item computes on a CPU."""


@dataclass(frozen=True)
class LRNProblem(Problem):
    """A window along the axes in input 1."""

    primitive: LRN

    @cached_property
    def axes(self) -> Axes | None:
        """The axes, counted from the front and ascending; None while they are unknown."""
        return normalized_axes(self.values, 1, self.inputs[0].rank)

    @property
    def reach(self) -> int:
        """How far the window reaches to either side."""
        return (self.primitive.size - 1) // 2

    @property
    def constants(self) -> dict[str, Constant]:
        """BIAS and POWER(v, type)."""
        beta = float(self.primitive.beta)
        usual = {0.5: "sqrt(v)", 0.75: "(sqrt(v) * sqrt(sqrt(v)))", 1.0: "(v)"}
        return {"BIAS": float(self.primitive.bias),
                "POWER(v, type)": usual.get(beta, f"pow(v, (type){literal(beta)})")}


class Reference(Kernel[LRNProblem, None]):
    """Any window, one element per work-item."""

    name = "lrn_ref"
    supports_large = True
    efficiency = 0.02

    def formats(self, problem: LRNProblem) -> Formats:
        return present_formats(problem)

    def supports(self, problem: LRNProblem, config: None) -> str | None:
        return None if problem.inputs[0].element_type.is_float else "made for floats"

    def lower(self, problem: LRNProblem, config: None) -> Lowered:
        primitive, all_axes, axes = problem.primitive, range(problem.inputs[0].rank), problem.axes or ()
        constants = {**problem.constants, "ALPHA": float(primitive.alpha), "WINDOW": primitive.size,
                     "SIZES": "{" + ", ".join(f"INPUT0_SIZE_{a}" for a in all_axes) + "}",
                     "REACHES": "{" + ", ".join(f"ARG_REACH_{a}" for a in all_axes) + "}"}
        arguments = {**{f"reach_{a}": problem.reach if a in axes else 0 for a in all_axes}, "axes": len(axes)}
        return Lowered((Stage("lrn_ref.cl", (input_operand(problem, 0), output_operand(problem)),
                              local_items(problem.outputs[0].count), constants, arguments),))


class Rows(Reference):
    """A window along one axis that is not the last, vectors of neighbours."""

    name = "lrn_rows"
    efficiency = 0.5

    def formats(self, problem: LRNProblem) -> Formats:
        return planar_formats(problem)

    def supports(self, problem: LRNProblem, config: None) -> str | None:
        axes = problem.axes
        if axes is None or len(axes) != 1:
            return "not along one axis that the model fixes"
        if axes[0] == problem.inputs[0].rank - 1:
            return "along the last axis"
        if not problem.inputs[0].is_dense_planar or not problem.outputs[0].is_dense_planar:
            return "made for planar formats without padding"
        return super().supports(problem, config)

    def lower(self, problem: LRNProblem, config: None) -> Lowered:
        primitive, run = problem.primitive, RUN if problem.runs_on_cpu else 1
        axis, = problem.axes or ()
        data, result = (_folded(x, axis) for x in (problem.inputs[0], problem.outputs[0]))
        outer, size, inner = static(data.sizes)
        constants = {**problem.constants, "RUN": run, "ALPHA": float(primitive.alpha / primitive.size),
                     "REACH": problem.reach}
        return Lowered((Stage("lrn_rows.cl", (input_operand(problem, 0, data), output_operand(problem, 0, result)),
                              Work((-(-inner // run), size * outer)), constants),))


def _folded(layout: Layout, axis: int) -> TensorView:
    """[outer, axis, inner] of a dense layout."""
    shape = static(layout.shape)
    return TensorView.dense(layout.element_type, (prod(shape[:axis]), shape[axis], prod(shape[axis + 1:])))


KERNELS = KernelTable((Rows(), Reference()), LRNProblem)
