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

_QUANTIZE = ("((x) <= fmin(low, high) ? (to_low) : (x) > fmax(low, high) ? (to_high) : "
             "rint(((x) - (low)) / ((high) - (low)) * LEVELS) * (((to_high) - (to_low)) / LEVELS) + (to_low))")


def _constants(params: KernelParams) -> dict[str, Constant]:
    suffix = "" if params.inputs[0].element_type.name == "f64" else "f"
    return {"LEVELS": f"{float(params.primitive.levels - 1)}{suffix}",
            "QUANTIZE(x, low, high, to_low, to_high)": _QUANTIZE}


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
