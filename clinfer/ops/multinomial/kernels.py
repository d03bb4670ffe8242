"""The kernel of DrawClasses."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.element_type import ElementType
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Kernel, KernelTable, Lowered, Problem, Stage, all_operands, scratch_operand
from clinfer.kernels.cost import time_of
from clinfer.ops.multinomial.op import DrawClasses
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.views import static

_F32 = ElementType.of("f32")


@dataclass(frozen=True)
class DrawProblem(Problem):
    """Probabilities and random numbers."""

    primitive: DrawClasses


class Reference(Kernel[DrawProblem, None]):
    """Sums of probabilities, one row per work-item; in these one work-item for each number searches, or one for each
    row if what it draws changes them."""

    name = "multinomial_ref"
    efficiency = 0.02

    def cost(self, problem: DrawProblem, config: None) -> float:
        return time_of(problem.capabilities.ceilings, nbytes=problem.moved_bytes, bandwidth=self.efficiency, launches=2)

    def lower(self, problem: DrawProblem, config: None) -> Lowered:
        primitive, rows = problem.primitive, static(problem.inputs[0].shape)[0]
        operands = (*all_operands(problem), scratch_operand(0, TensorView.dense(_F32, problem.inputs[0].shape)))
        constants = {"IS_LOG": primitive.log_probs, "REPLACES": primitive.with_replacement}
        items = problem.outputs[0].count if primitive.with_replacement else rows
        return Lowered((Stage("sum_probabilities.cl", operands, local_items(rows), constants),
                        Stage("multinomial_ref.cl", operands, local_items(items), constants)),
                       (4 * problem.inputs[0].count,))


KERNELS = KernelTable((Reference(),), DrawProblem)
