"""Kernels of the softmax room."""
from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from clinfer.base.tensor_view import TensorView
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
    rows_constants,
    rows_dispatch,
    rows_of,
    unblocked_formats,
    vector_columns_of,
)
from clinfer.ops.softmax.op import LogSoftmax


def _axes(params: KernelParams) -> Axes:
    return (params.primitive.axis % max(params.inputs[0].rank, 1),)


def _formats(params: KernelParams) -> Formats:
    return unblocked_formats(params, _axes(params))


def _constants(params: KernelParams) -> Mapping[str, Constant]:
    return {"IS_LOG": isinstance(params.primitive, LogSoftmax)}


def _reference_operands(params: KernelParams) -> tuple[Operand, ...]:
    return tuple(make(params, 0, kept_first(TensorView.of(layout), _axes(params), is_open=False))
                 for make, layout in ((input_operand, params.inputs[0]), (output_operand, params.outputs[0])))


def _reference_dispatch(params: KernelParams) -> Dispatch:
    return local_items(kept_count(params.inputs[0], _axes(params)))


def _output_view(params: KernelParams) -> TensorView:
    return TensorView.of(params.outputs[0])


_ROWS = Arranged(rows_of, _axes, _output_view)
_VECTOR_COLUMNS = Arranged(vector_columns_of, _axes, _output_view)
_COLUMNS = Arranged(columns_of, _axes, _output_view)


def _columns_stage(columns: Arranged, vector: int) -> Stage:
    return Stage("softmax_columns.cl", "softmax_columns", partial(columns_dispatch, columns, vector),
                 columns.operands, lambda params: {**_constants(params), "VEC": vector}, bake=False)


KERNELS = (
    KernelSpec("softmax_rows", (Stage(
        "softmax_rows.cl", "softmax_rows", partial(rows_dispatch, _ROWS), _ROWS.operands,
        lambda params: {**_constants(params), **rows_constants(params)}, bake=False),),
        score=lambda params: 30.0, formats=_formats, check_shapes=_ROWS.reason),
    KernelSpec("softmax_columns16", (_columns_stage(_VECTOR_COLUMNS, COLUMN_VECTOR),), cpu_only,
               lambda params: 20.0, _formats, _VECTOR_COLUMNS.reason),
    KernelSpec("softmax_columns", (_columns_stage(_COLUMNS, 1),), score=lambda params: 10.0, formats=_formats,
               check_shapes=_COLUMNS.reason),
    KernelSpec("softmax_ref", formats=_formats, stages=(
        Stage("softmax_ref.cl", "softmax_ref", _reference_dispatch, _reference_operands, _constants, bake=False),)),
)
