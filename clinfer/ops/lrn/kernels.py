"""Kernels of the lrn room."""
from __future__ import annotations

import math

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.jitter import literal
from clinfer.kernels.spec import (
    Constant,
    Dispatch,
    KernelParams,
    KernelSpec,
    Operand,
    Stage,
    input_operand,
    output_operand,
    present_formats,
)
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.reduction import Axes, normalized_axes
from clinfer.ops.shared.spatial import count

RUN = 256
"""Neighbours that one work-item computes on a CPU."""


def _axes(params: KernelParams) -> Axes | None:
    return normalized_axes(params.values, 1, params.inputs[0].rank)


def _reach(params: KernelParams) -> int:
    return int((params.primitive.size - 1) // 2)


def _floats(params: KernelParams) -> str | None:
    return None if params.inputs[0].element_type.is_float else "made for floats"


def _constants(params: KernelParams) -> dict[str, Constant]:
    beta = float(params.primitive.beta)
    usual = {0.5: "sqrt(v)", 0.75: "(sqrt(v) * sqrt(sqrt(v)))", 1.0: "(v)"}
    return {"BIAS": float(params.primitive.bias), "POWER(v, type)": usual.get(beta, f"pow(v, (type){literal(beta)})")}


# -- any window -------------------------------------------------------------------------------------


def _operands(params: KernelParams) -> tuple[Operand, ...]:
    return input_operand(params, 0), output_operand(params, 0)


def _reference_constants(params: KernelParams) -> dict[str, Constant]:
    axes = range(params.inputs[0].rank)
    return {**_constants(params), "ALPHA": float(params.primitive.alpha), "WINDOW": params.primitive.size,
            "SIZES": "{" + ", ".join(f"INPUT0_SIZE_{a}" for a in axes) + "}",
            "REACHES": "{" + ", ".join(f"ARG_REACH_{a}" for a in axes) + "}"}


def _reference_arguments(params: KernelParams) -> dict[str, int]:
    """How far the window reaches along every axis, and along how many it does."""
    axes = _axes(params) or ()
    reaches = {f"reach_{a}": _reach(params) if a in axes else 0 for a in range(params.inputs[0].rank)}
    return {**reaches, "axes": len(axes)}


def _reference_dispatch(params: KernelParams) -> Dispatch:
    return local_items(params.outputs[0].count)


# -- windows along one axis -------------------------------------------------------------------------


def _folded(params: KernelParams, shape_of: int) -> TensorView:
    """[outer, axis, inner] of data (0) or output (1), which are dense."""
    layout = (params.inputs[0], params.outputs[0])[shape_of]
    axis, = _axes(params) or (0,)
    shape = layout.shape
    return TensorView.dense(layout.element_type, (count(shape[:axis]), shape[axis], count(shape[axis + 1:])))


def _rows_operands(params: KernelParams) -> tuple[Operand, ...]:
    return input_operand(params, 0, _folded(params, 0)), output_operand(params, 0, _folded(params, 1))


def _run(params: KernelParams) -> int:
    return RUN if params.capabilities.device_type == "CPU" else 1


def _rows_constants(params: KernelParams) -> dict[str, Constant]:
    primitive = params.primitive
    return {**_constants(params), "RUN": _run(params), "ALPHA": float(primitive.alpha / primitive.size),
            "REACH": _reach(params)}


def _rows_dispatch(params: KernelParams) -> Dispatch:
    outer, size, inner = _folded(params, 0).sizes
    return Dispatch((math.ceil(inner / _run(params)), size * outer))  # type: ignore[operator]


def _rows_support(params: KernelParams) -> str | None:
    axes = _axes(params)
    if axes is None or len(axes) != 1:
        return "not along one axis that the model fixes"
    if axes[0] == params.inputs[0].rank - 1:
        return "along the last axis"
    if not params.inputs[0].is_dense_planar or not params.outputs[0].is_dense_planar:
        return "made for planar formats without padding"
    return _floats(params)


KERNELS = (
    KernelSpec("lrn_rows", (Stage("lrn_rows.cl", "lrn_rows", _rows_dispatch, _rows_operands, _rows_constants,
                                  bake=False),), _rows_support, lambda params: 10.0),
    KernelSpec("lrn_ref", (Stage("lrn_ref.cl", "lrn_ref", _reference_dispatch, _operands, _reference_constants,
                                 _reference_arguments, bake=False),), _floats, formats=present_formats),
)
