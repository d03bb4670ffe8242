"""The kernel of ReverseSequence."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.layout import Layout
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Operand, input_operand, output_operand, present_formats
from clinfer.ops.reverse_sequence.op import ReverseSequence
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel
from clinfer.ops.shared.view_copy import raw_view


@dataclass(frozen=True)
class ReverseSequenceProblem(OnlyKernelProblem):
    """Sequences turned round as far as they go."""

    primitive: ReverseSequence

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (input_operand(self, 0, self._arranged(self.inputs[0])), input_operand(self, 1),
                output_operand(self, 0, self._arranged(self.outputs[0])))

    def _arranged(self, layout: Layout) -> TensorView:
        """The raw view with the batch first and the sequence last."""
        batch, sequence = self.primitive.batch_axis % layout.rank, self.primitive.seq_axis % layout.rank
        others = tuple(a for a in range(layout.rank) if a not in (batch, sequence))
        return raw_view(TensorView.of(layout).permute((batch, *others, sequence)))


KERNELS = only_kernel("reverse_sequence_ref", ReverseSequenceProblem, present_formats)
