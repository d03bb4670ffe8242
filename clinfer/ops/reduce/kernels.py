"""Kernels of the reduce room."""
from __future__ import annotations

from functools import partial

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import (
    Constant,
    Formats,
    KernelParams,
    KernelSpec,
    Operand,
    Stage,
    input_operand,
    output_operand,
)
from clinfer.ops.reduce.op import REDUCTIONS
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.reduction import (
    COLUMN_VECTOR,
    Arranged,
    Axes,
    columns_dispatch,
    columns_of,
    cpu_only,
    kept_first,
    normalized_axes,
    reduced_count,
    reference_constants,
    rows_constants,
    rows_dispatch,
    rows_of,
    unblocked_formats,
    vector_columns_of,
)
from clinfer.ops.shared.views import index_view, open_view


def _axes(params: KernelParams) -> Axes | None:
    return normalized_axes(params.values, 1, params.inputs[0].rank)


def _result_view(params: KernelParams) -> TensorView:
    """The output's view with every axis of the input; open while it is unknown where they belong."""
    data, output, axes = params.inputs[0], params.outputs[0], _axes(params)
    if params.primitive.keep_dims:
        return TensorView.of(output)
    if axes is None:
        return open_view(output.element_type, data.rank)
    return index_view(TensorView.of(output), tuple(None if a in axes else slice(None) for a in range(data.rank)))


def _arithmetic(params: KernelParams) -> dict[str, Constant]:
    """The texts of the reduction for the arithmetic type of the input."""
    reduction = REDUCTIONS[params.primitive.mode]
    compute = params.inputs[0].element_type.cl_compute
    is_float = params.inputs[0].element_type.is_float
    words = {"MAXIMUM": "fmax" if is_float else "max", "MINIMUM": "fmin" if is_float else "min"}
    return {"COMBINE(a, b)": f"({_spelled(reduction.combine, words)})",
            "MAGNITUDE(x)": "fabs(x)" if is_float else "((x) < 0 ? -(x) : (x))",
            "ROOT(x)": "sqrt(x)" if is_float else f"({compute})sqrt((float)(x))",
            "VALUE(x)": f"({reduction.value})", "FINISH(x)": f"({reduction.finish})",
            "INITIAL": reduction.initial_for(compute), "N": f"(({compute})ARG_N)"}


def _spelled(text: str, words: dict[str, str]) -> str:
    for word, spelling in words.items():
        text = text.replace(word, spelling)
    return text


def _arguments(params: KernelParams) -> dict[str, int]:
    axes = _axes(params)
    return {"n": reduced_count(params.inputs[0], axes) if axes is not None and params.is_static else 0}


def _formats(params: KernelParams) -> Formats:
    return unblocked_formats(params, _axes(params))


def _reference(built_for: KernelParams) -> tuple[Stage, ...]:
    is_open = _axes(built_for) is None

    def operands(params: KernelParams) -> tuple[Operand, ...]:
        axes = _axes(params)
        return (input_operand(params, 0, kept_first(TensorView.of(params.inputs[0]), axes, is_open)),
                output_operand(params, 0, kept_first(_result_view(params), axes, is_open)))

    def constants(params: KernelParams) -> dict[str, Constant]:
        return {**_arithmetic(params), **reference_constants(params.inputs[0].rank, _axes(params), is_open)}
    return (Stage("reduce_ref.cl", "reduce_ref", lambda params: local_items(params.outputs[0].count), operands,
                  constants, _arguments, bake=False),)


_ROWS = Arranged(rows_of, _axes, _result_view)
_VECTOR_COLUMNS = Arranged(vector_columns_of, _axes, _result_view)
_COLUMNS = Arranged(columns_of, _axes, _result_view)


def _columns_stage(columns: Arranged, vector: int) -> Stage:
    return Stage("reduce_columns.cl", "reduce_columns", partial(columns_dispatch, columns, vector), columns.operands,
                 lambda params: {**_arithmetic(params), "VEC": vector}, _arguments, bake=False)


def _float_on_cpu(params: KernelParams) -> str | None:
    return cpu_only(params) or (None if params.inputs[0].element_type.is_float else "made for floats")


KERNELS = (
    KernelSpec("reduce_columns16", (_columns_stage(_VECTOR_COLUMNS, COLUMN_VECTOR),), _float_on_cpu,
               lambda params: 30.0, _formats, _VECTOR_COLUMNS.reason),
    KernelSpec("reduce_rows", (Stage(
        "reduce_rows.cl", "reduce_rows", partial(rows_dispatch, _ROWS), _ROWS.operands,
        lambda params: {**_arithmetic(params), **rows_constants(params)}, _arguments, bake=False),),
        score=lambda params: 20.0, formats=_formats, check_shapes=_ROWS.reason),
    KernelSpec("reduce_columns", (_columns_stage(_COLUMNS, 1),), score=lambda params: 10.0, formats=_formats,
               check_shapes=_COLUMNS.reason),
    KernelSpec("reduce_ref", _reference, formats=_formats),
)
