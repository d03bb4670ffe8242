"""Kernels of the MVN room."""
from __future__ import annotations

from functools import partial

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.jitter import literal
from clinfer.kernels.spec import (
    Constant,
    Dispatch,
    Formats,
    KernelParams,
    KernelSpec,
    Operand,
    Stage,
    input_operand,
    output_operand,
)
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.reduction import (
    COLUMN_VECTOR,
    Arranged,
    Axes,
    columns_dispatch,
    columns_of,
    cpu_only,
    kept_count,
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


def _axes(params: KernelParams) -> Axes | None:
    return normalized_axes(params.values, 1, params.inputs[0].rank)


def _formats(params: KernelParams) -> Formats:
    return unblocked_formats(params, _axes(params))


def _constants(params: KernelParams) -> dict[str, Constant]:
    primitive = params.primitive
    eps = literal(float(primitive.eps))
    if not primitive.normalize_variance:
        return {"DEVIATION(v)": "((v) - (v) + 1)"}
    return {"DEVIATION(v)": f"sqrt((v) + {eps})" if primitive.eps_inside_sqrt else f"(sqrt(v) + {eps})"}


def _output_view(params: KernelParams) -> TensorView:
    return TensorView.of(params.outputs[0])


def _floats(params: KernelParams) -> str | None:
    return None if params.inputs[0].element_type.is_float else "made for floats"


def _reference(built_for: KernelParams) -> tuple[Stage, ...]:
    is_open = _axes(built_for) is None

    def operands(params: KernelParams) -> tuple[Operand, ...]:
        axes = _axes(params)
        return (input_operand(params, 0, kept_first(TensorView.of(params.inputs[0]), axes, is_open)),
                output_operand(params, 0, kept_first(_output_view(params), axes, is_open)))

    def constants(params: KernelParams) -> dict[str, Constant]:
        return {**_constants(params), **reference_constants(params.inputs[0].rank, _axes(params), is_open)}

    def arguments(params: KernelParams) -> dict[str, int]:
        axes = _axes(params)
        if axes is None or not params.is_static:
            return {"n": 0, "results": 0}
        return {"n": reduced_count(params.inputs[0], axes), "results": kept_count(params.inputs[0], axes)}

    def dispatch(params: KernelParams) -> Dispatch:
        return local_items(kept_count(params.inputs[0], _axes(params) or ()))
    return (Stage("mvn_ref.cl", "mvn_ref", dispatch, operands, constants, arguments, bake=False),)


_ROWS = Arranged(rows_of, _axes, _output_view)
_VECTOR_COLUMNS = Arranged(vector_columns_of, _axes, _output_view)
_COLUMNS = Arranged(columns_of, _axes, _output_view)


def _columns_stage(columns: Arranged, vector: int) -> Stage:
    return Stage("mvn_columns.cl", "mvn_columns", partial(columns_dispatch, columns, vector), columns.operands,
                 lambda params: {**_constants(params), "VEC": vector}, bake=False)


def _floats_on_cpu(params: KernelParams) -> str | None:
    return cpu_only(params) or _floats(params)


KERNELS = (
    KernelSpec("mvn_rows", (Stage(
        "mvn_rows.cl", "mvn_rows", partial(rows_dispatch, _ROWS), _ROWS.operands,
        lambda params: {**_constants(params), **rows_constants(params)}, bake=False),),
        _floats, lambda params: 30.0, _formats, _ROWS.reason),
    KernelSpec("mvn_columns16", (_columns_stage(_VECTOR_COLUMNS, COLUMN_VECTOR),), _floats_on_cpu,
               lambda params: 20.0, _formats, _VECTOR_COLUMNS.reason),
    KernelSpec("mvn_columns", (_columns_stage(_COLUMNS, 1),), _floats, lambda params: 10.0, _formats,
               _COLUMNS.reason),
    KernelSpec("mvn_ref", _reference, _floats, formats=_formats),
)
