"""The kernel of RoPE."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.shape import StaticShape
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Constant, Operand, input_operand, output_operand
from clinfer.ops.rope.op import RoPE
from clinfer.ops.shared.only_kernel import SpanProblem, only_kernel
from clinfer.ops.shared.parts import PartsProblem, seen_input, seen_result
from clinfer.ops.shared.views import static


@dataclass(frozen=True)
class RoPEProblem(SpanProblem, PartsProblem):
    """Data, and factors that stretch to it; what is shared out are the pairs of the last axis."""

    primitive: RoPE

    @property
    def _sizes(self) -> StaticShape:
        return static(seen_result(self).sizes)

    @property
    def operands(self) -> tuple[Operand, ...]:
        *rows, size = self._sizes
        target = (*rows, self.primitive.width(size))
        factors = (input_operand(self, i, TensorView.of(self.inputs[i]).broadcast(target)) for i in (1, 2))
        return (input_operand(self, 0, seen_input(self, 0)), *factors, output_operand(self, 0, seen_result(self)))

    @property
    def constants(self) -> dict[str, Constant]:
        primitive = self.primitive
        is_wide = self.runs_on_cpu and not primitive.interleaved and all(
            layout.element_type.cl_compute == "float" for layout in (*self.inputs, *self.outputs))
        return {**super().constants, "INTERLEAVED": primitive.interleaved, "PAIRED": primitive.paired,
                "ROTATED": primitive.rotated or "OUTPUT0_SIZE_LAST", "WIDE": is_wide}

    @property
    def spanned(self) -> StaticShape:
        *rows, size = self._sizes
        return (*rows, size - (self.primitive.rotated or size) // 2)


KERNELS = only_kernel("rope_ref", RoPEProblem)
