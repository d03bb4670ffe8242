"""Kernels of the fake_quantize room. They walk the tensors as the element-wise ones do."""
from __future__ import annotations

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import (
    Constant,
    KernelParams,
    KernelSpec,
    Operand,
    Stage,
    input_operand,
    output_operand,
)
from clinfer.ops.eltwise.kernels import broadcast_formats, stretched
from clinfer.ops.shared import walk
from clinfer.ops.shared.copying import local_items


def _constants(params: KernelParams) -> dict[str, Constant]:
    text = params.primitive.tail_text(tuple(x.element_type for x in params.inputs))
    assert text is not None
    return {"QUANTIZE(T, a, b, c, d, e)": text}


def _supports(params: KernelParams) -> str | None:
    kinds = {x.element_type for x in params.inputs}
    if len(kinds) > 1 or not params.inputs[0].element_type.is_float:
        return "bounds and values must have one float type"
    return None


def _operands(params: KernelParams) -> tuple[Operand, ...]:
    shape = params.outputs[0].shape
    return (*(input_operand(params, i, stretched(TensorView.of(x), shape)) for i, x in enumerate(params.inputs)),
            output_operand(params))


def _supports_vectors(params: KernelParams) -> str | None:
    return _supports(params) or walk.why_not(params)


def _vector_constants(params: KernelParams) -> dict[str, Constant]:
    return {**_constants(params), "VECTOR": walk.vector(params)}


KERNELS = (
    KernelSpec("fake_quantize_vector", supports=_supports_vectors, score=lambda params: 10.0,
               formats=broadcast_formats, stages=(
                   Stage("fake_quantize_vector.cl", "fake_quantize_vector", walk.dispatch, walk.operands,
                         _vector_constants, walk.arguments, bake=False),)),
    KernelSpec("fake_quantize_ref", supports=_supports, formats=broadcast_formats, stages=(
        Stage("fake_quantize_ref.cl", "fake_quantize_ref", lambda params: local_items(params.outputs[0].count),
              _operands, _constants, bake=False),)),
)
