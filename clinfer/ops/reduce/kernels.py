"""Kernels of the reduce room."""
from __future__ import annotations

from clinfer.base.layout import Layout
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import Constant, KernelParams, KernelSpec
from clinfer.ops.reduce.op import REDUCTIONS
from clinfer.ops.shared.axis_stages import AxisStages, axes_given
from clinfer.ops.shared.reduction import cpu_only
from clinfer.ops.shared.views import index_view, open_view


def _result_view(params: KernelParams, result: Layout) -> TensorView:
    """A tensor of the output's axes with every axis of the input; open while it is unknown where they belong."""
    data, axes = params.inputs[0], axes_given(params)
    if params.primitive.keep_dims:
        return TensorView.of(result)
    if axes is None:
        return open_view(result.element_type, data.rank)
    return index_view(TensorView.of(result), tuple(None if a in axes else slice(None) for a in range(data.rank)))


def _arithmetic(params: KernelParams) -> dict[str, Constant]:
    """The texts of the reduction for the arithmetic type of the input."""
    reduction = REDUCTIONS[params.primitive.mode]
    compute = params.inputs[0].element_type.cl_compute
    is_float = params.inputs[0].element_type.is_float
    count = "ARG_N" if is_float else "max(ARG_N, 1)"
    words = {"MAXIMUM": "fmax" if is_float else "max", "MINIMUM": "fmin" if is_float else "min"}
    return {"COMBINE(a, b)": f"({_spelled(reduction.combine, words)})",
            "MAGNITUDE(x)": "fabs(x)" if is_float else "((x) < 0 ? -(x) : (x))",
            "ROOT(x)": "sqrt(x)" if is_float else f"({compute})sqrt((float)(x))",
            "VALUE(x)": f"({reduction.value})", "FINISH(x)": f"({reduction.finish})",
            "INITIAL": reduction.initial_for(params.inputs[0].element_type), "N": f"(({compute}){count})"}


def _spelled(text: str, words: dict[str, str]) -> str:
    for word, spelling in words.items():
        text = text.replace(word, spelling)
    return text


def _float_on_cpu(params: KernelParams) -> str | None:
    return cpu_only(params) or (None if params.inputs[0].element_type.is_float else "made for floats")


_STAGES = AxisStages("reduce", _arithmetic, result=_result_view, counts_elements=True)

KERNELS = (
    KernelSpec("reduce_columns16", _STAGES.vector_columns_stages(), _float_on_cpu, lambda params: 30.0,
               _STAGES.formats, _STAGES.vector_columns.reason),
    KernelSpec("reduce_rows", _STAGES.rows_stages(), score=lambda params: 20.0, formats=_STAGES.formats,
               check_shapes=_STAGES.rows.reason),
    KernelSpec("reduce_columns", _STAGES.columns_stages(), score=lambda params: 10.0, formats=_STAGES.formats,
               check_shapes=_STAGES.columns.reason),
    KernelSpec("reduce_ref", _STAGES.reference_stages, formats=_STAGES.formats),
)
