"""The kernel table of an operation that maps every vector along some axes to one of the same length.

The room brings `<name>_rows.cl`, `<name>_columns.cl` and `<name>_ref.cl`; its primitive has the axes in
input 1, and the output has the shape of input 0.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
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
    normalized_axes,
    reduced_count,
    reference_constants,
    rows_constants,
    rows_dispatch,
    rows_of,
    unblocked_formats,
    vector_columns_of,
)

Constants = Callable[[KernelParams], Mapping[str, Constant]]


def normalizing_kernels(name: str, constants: Constants) -> tuple[KernelSpec, ...]:
    """`<name>_rows`, `_columns16` and `_columns` (both from `_columns.cl`) and `_ref`; all for floats.

    `constants` gives the macros that all of them read, besides those of `shared/reduction.py`.
    """
    rows, vectors, columns = (Arranged(arrange, _axes, _output_view)
                              for arrange in (rows_of, vector_columns_of, columns_of))

    def rows_stage_constants(params: KernelParams) -> Mapping[str, Constant]:
        return {**constants(params), **rows_constants(params)}
    rows_stage = Stage(f"{name}_rows.cl", f"{name}_rows", partial(rows_dispatch, rows), rows.operands,
                       rows_stage_constants, bake=False)
    return (
        KernelSpec(f"{name}_rows", (rows_stage,), _floats, lambda params: 30.0, _formats, rows.reason),
        KernelSpec(f"{name}_columns16", (_columns_stage(name, constants, vectors, COLUMN_VECTOR),), _floats_on_cpu,
                   lambda params: 20.0, _formats, vectors.reason),
        KernelSpec(f"{name}_columns", (_columns_stage(name, constants, columns, 1),), _floats, lambda params: 10.0,
                   _formats, columns.reason),
        KernelSpec(f"{name}_ref", partial(_reference, name, constants), _floats, formats=_formats),
    )


def _axes(params: KernelParams) -> Axes | None:
    return normalized_axes(params.values, 1, params.inputs[0].rank)


def _formats(params: KernelParams) -> Formats:
    return unblocked_formats(params, _axes(params))


def _output_view(params: KernelParams) -> TensorView:
    return TensorView.of(params.outputs[0])


def _floats(params: KernelParams) -> str | None:
    return None if params.inputs[0].element_type.is_float else "made for floats"


def _floats_on_cpu(params: KernelParams) -> str | None:
    return cpu_only(params) or _floats(params)


def _columns_stage(name: str, constants: Constants, columns: Arranged, vector: int) -> Stage:
    return Stage(f"{name}_columns.cl", f"{name}_columns", partial(columns_dispatch, columns, vector), columns.operands,
                 lambda params: {**constants(params), "VEC": vector}, bake=False)


def _reference(name: str, constants: Constants, built_for: KernelParams) -> tuple[Stage, ...]:
    is_open = _axes(built_for) is None

    def operands(params: KernelParams) -> tuple[Operand, ...]:
        axes = _axes(params)
        return (input_operand(params, 0, kept_first(TensorView.of(params.inputs[0]), axes, is_open)),
                output_operand(params, 0, kept_first(_output_view(params), axes, is_open)))

    def all_constants(params: KernelParams) -> Mapping[str, Constant]:
        return {**constants(params), **reference_constants(params.inputs[0].rank, _axes(params), is_open)}

    def arguments(params: KernelParams) -> dict[str, int]:
        axes = _axes(params)
        if axes is None or not params.is_static:
            return {"n": 0, "results": 0}
        return {"n": reduced_count(params.inputs[0], axes), "results": kept_count(params.inputs[0], axes)}

    def dispatch(params: KernelParams) -> Dispatch:
        return local_items(kept_count(params.inputs[0], _axes(params) or ()))
    return (Stage(f"{name}_ref.cl", f"{name}_ref", dispatch, operands, all_constants, arguments, bake=False),)
