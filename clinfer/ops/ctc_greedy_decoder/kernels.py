"""The kernel of CollapseClasses."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.kernels.contract import (
    Constant,
    Kernel,
    KernelTable,
    Lowered,
    Operand,
    Problem,
    Stage,
    input_operand,
    output_operand,
)
from clinfer.ops.ctc_greedy_decoder.op import CollapseClasses
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.views import static


@dataclass(frozen=True)
class CollapseProblem(Problem):
    """Sequences of classes."""

    primitive: CollapseClasses

    @property
    def operands(self) -> tuple[Operand, ...]:
        """All but the scores."""
        inputs = (index for index in range(len(self.inputs)) if index != 2)
        return (*(input_operand(self, index) for index in inputs),
                *(output_operand(self, index) for index in range(len(self.outputs))))

    @property
    def constants(self) -> dict[str, Constant]:
        return {"STEPS_FIRST": self.primitive.steps_first, "MERGES": self.primitive.merges,
                "HAS_BLANK": len(self.inputs) > 3}


class Reference(Kernel[CollapseProblem, None]):
    """One sequence per work-item."""

    name = "ctc_greedy_decoder_ref"
    efficiency = 0.01

    def lower(self, problem: CollapseProblem, config: None) -> Lowered:
        work = local_items(static(problem.outputs[0].shape)[0])
        return Lowered((Stage("ctc_greedy_decoder_ref.cl", problem.operands, work, problem.constants,
                              {"classes": static(problem.inputs[2].shape)[-1]}),))


KERNELS = KernelTable((Reference(),), CollapseProblem)
