"""The kernel of OneHot."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Constant, Operand, input_operand, output_operand
from clinfer.ops.one_hot.op import OneHot
from clinfer.ops.shared.data_formats import unblocked_data_formats
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel
from clinfer.ops.shared.view_copy import raw_view, storage_type


@dataclass(frozen=True)
class OneHotProblem(OnlyKernelProblem):
    """One of two values, by what stands in the indices."""

    primitive: OneHot

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The indices, the two values, and the output with the axis of the classes last."""
        rank = self.outputs[0].rank
        axis = self.primitive.axis % rank
        output = TensorView.of(self.outputs[0]).permute((*(a for a in range(rank) if a != axis), axis))
        scalars = (input_operand(self, i, TensorView.dense(storage_type(self.inputs[i].element_type), ()))
                   for i in (2, 3))
        return input_operand(self, 0), *scalars, output_operand(self, 0, raw_view(output))

    @property
    def constants(self) -> dict[str, Constant]:
        coordinates = ", ".join(f"(c)[{axis}]" for axis in range(self.inputs[0].rank))
        return {"WRAPS_NEGATIVE": self.primitive.wraps_negative, "INDICES_AT(c)": f"INPUT0_GET_INDEX({coordinates})"}


KERNELS = only_kernel("one_hot_ref", OneHotProblem, unblocked_data_formats)
