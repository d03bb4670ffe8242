"""The kernel of CollapseClasses."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.kernels.contract import Constant, Operand, Work, input_operand, output_operand
from clinfer.ops.ctc_greedy_decoder.op import CollapseClasses
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel
from clinfer.ops.shared.views import static


@dataclass(frozen=True)
class CollapseProblem(OnlyKernelProblem):
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

    @property
    def arguments(self) -> dict[str, int]:
        return {"classes": static(self.inputs[2].shape)[-1]}

    @property
    def work(self) -> Work:
        return local_items(static(self.outputs[0].shape)[0])


KERNELS = only_kernel("ctc_greedy_decoder_ref", CollapseProblem, supports_large=False)
