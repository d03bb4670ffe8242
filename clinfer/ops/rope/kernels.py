"""The kernel of the rope room."""
from __future__ import annotations

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import Dispatch, KernelParams, KernelSpec, Operand, Stage, input_operand, output_operand
from clinfer.ops.shared.copying import span_constants, span_dispatch
from clinfer.ops.shared.parts import seen_input, seen_result
from clinfer.ops.shared.views import static


def _operands(params: KernelParams) -> tuple[Operand, ...]:
    result = seen_result(params)
    factors = (input_operand(params, i, TensorView.of(params.inputs[i]).broadcast(result.sizes)) for i in (1, 2))
    return (input_operand(params, 0, seen_input(params, 0)), *factors, output_operand(params, 0, result))


def _dispatch(params: KernelParams) -> Dispatch:
    *rows, size = static(seen_result(params).sizes)
    return span_dispatch(params, (*rows, size // 2))


KERNELS = (
    KernelSpec("rope_ref", (Stage("rope_ref.cl", "rope_ref", _dispatch, _operands, span_constants, bake=False),)),
)
