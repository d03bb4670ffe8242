"""The kernels of FakeConvert."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.element_type import ElementType
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    Constant,
    Formats,
    Kernel,
    KernelTable,
    Lowered,
    Operand,
    input_operand,
    output_operand,
    planar_formats,
)
from clinfer.ops.eltwise.kernels import broadcast_formats
from clinfer.ops.fake_convert.op import FakeConvert
from clinfer.ops.shared import walk
from clinfer.ops.shared.only_kernel import OnlyKernel, SpanProblem
from clinfer.ops.shared.views import at_least_one_axis

_F32 = ElementType.of("f32")
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


class Vector(Kernel[FakeConvertProblem, None]):
    """Vectors along merged axes, of f32."""

    name = "fake_convert_vector"
    efficiency = 0.8
    supports_large = True

    def formats(self, problem: FakeConvertProblem) -> Formats:
        return broadcast_formats(problem)

    def supports(self, problem: FakeConvertProblem, config: None) -> str | None:
        if any(x.element_type != _F32 for x in (*problem.inputs, *problem.outputs)):
            return "types other than f32"
        return walk.why_not(problem)

    def lower(self, problem: FakeConvertProblem, config: None) -> Lowered:
        kind = problem.primitive.destination_type
        constants: dict[str, Constant] = {"HAS_SHIFT": len(problem.inputs) > 2, "LARGEST": _LARGEST[kind],
                                          "TO_FLOAT8(T, v)": f"ROUNDED({kind}, T, v)"}
        return Lowered((walk.walk_stage(problem, "fake_convert_vector.cl", constants, has_epilogue=False),))


KERNELS = KernelTable((Vector(), OnlyKernel("fake_convert_ref", planar_formats, True)), FakeConvertProblem)
