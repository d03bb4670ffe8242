"""The kernel of SequenceLoss."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.element_type import ElementType
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Kernel, KernelTable, Lowered, Problem, Stage, all_operands, scratch_operand
from clinfer.kernels.cost import time_of
from clinfer.ops.ctc_loss.op import SequenceLoss
from clinfer.ops.shared.copying import local_items

_F32, _I32 = ElementType.of("f32"), ElementType.of("i32")
_FLOPS = 30
"""Of a step of one label or blank."""


@dataclass(frozen=True)
class LossProblem(Problem):
    """Sequences of scores and of labels."""

    primitive: SequenceLoss


class Reference(Kernel[LossProblem, None]):
    """One sequence per work-item."""

    name = "ctc_loss_ref"
    efficiency = 0.02

    def cost(self, problem: LossProblem, config: None) -> float:
        places = problem.inputs[2].count * (2 * problem.inputs[2].shape[1] + 1)
        return time_of(problem.capabilities.ceilings, flops=places * _FLOPS, efficiency=self.efficiency,
                       nbytes=problem.moved_bytes)

    def lower(self, problem: LossProblem, config: None) -> Lowered:
        primitive, labels = problem.primitive, problem.inputs[2].shape
        sums = (labels[0], 2 * labels[1] + 1)
        stage = Stage("ctc_loss_ref.cl", (*all_operands(problem), scratch_operand(0, TensorView.dense(_F32, sums)),
                                          scratch_operand(1, TensorView.dense(_I32, labels))),
                      local_items(problem.outputs[0].count),
                      {"COLLAPSES": primitive.preprocess_collapse_repeated, "MERGES": primitive.ctc_merge_repeated,
                       "UNIQUE": primitive.unique, "HAS_BLANK": len(problem.inputs) > 4})
        return Lowered((stage,), (4 * sums[0] * sums[1], 4 * problem.inputs[2].count))


KERNELS = KernelTable((Reference(),), LossProblem)
