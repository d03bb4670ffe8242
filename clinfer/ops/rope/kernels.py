"""The kernel of the rope room."""
from __future__ import annotations

from collections.abc import Mapping

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import (
    Constant,
    Dispatch,
    KernelParams,
    KernelSpec,
    Operand,
    Stage,
    input_operand,
    output_operand,
)
from clinfer.ops.shared.copying import span_constants, span_dispatch
from clinfer.ops.shared.parts import seen_input, seen_result
from clinfer.ops.shared.views import static


def _operands(params: KernelParams) -> tuple[Operand, ...]:
    result = seen_result(params)
    *rows, size = result.sizes
    target = (*rows, params.primitive.width(size))
    factors = (input_operand(params, i, TensorView.of(params.inputs[i]).broadcast(target)) for i in (1, 2))
    return (input_operand(params, 0, seen_input(params, 0)), *factors, output_operand(params, 0, result))


def _constants(params: KernelParams) -> Mapping[str, Constant]:
    primitive = params.primitive
    return {**span_constants(params), "INTERLEAVED": primitive.interleaved, "PAIRED": primitive.paired,
            "ROTATED": primitive.rotated or "OUTPUT0_SIZE_LAST"}


def _dispatch(params: KernelParams) -> Dispatch:
    *rows, size = static(seen_result(params).sizes)
    return span_dispatch(params, (*rows, size - (params.primitive.rotated or size) // 2))


KERNELS = (
    KernelSpec("rope_ref", (Stage("rope_ref.cl", "rope_ref", _dispatch, _operands, _constants, bake=False),)),
)
