"""The kernel of FakeConvert."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Constant, Operand, input_operand, output_operand
from clinfer.ops.fake_convert.op import FakeConvert
from clinfer.ops.shared.only_kernel import SpanProblem, only_kernel
from clinfer.ops.shared.views import at_least_one_axis

_LARGEST = {"f8e4m3": 448.0, "f8e5m2": 57344.0}


@dataclass(frozen=True)
class FakeConvertProblem(SpanProblem):
    """Numbers that are rounded."""

    primitive: FakeConvert

    @property
    def operands(self) -> tuple[Operand, ...]:
        shape = self.outputs[0].shape
        views = (at_least_one_axis(TensorView.of(layout).broadcast(shape)) for layout in self.inputs)
        return (*(input_operand(self, index, view) for index, view in enumerate(views)),
                output_operand(self, 0, at_least_one_axis(TensorView.of(self.outputs[0]))))

    @property
    def constants(self) -> dict[str, Constant]:
        kind = self.primitive.destination_type
        return {"HAS_SHIFT": len(self.inputs) > 2, "LARGEST": _LARGEST[kind], "TO_FLOAT8": f"clinfer_to_{kind}",
                "OF_FLOAT8": f"clinfer_of_{kind}", **super().constants}


KERNELS = only_kernel("fake_convert_ref", FakeConvertProblem)
