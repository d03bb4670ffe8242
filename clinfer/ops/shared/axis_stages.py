"""The stages of an operation that works along some axes of input 0: rows, columns, and the reference for all else.

The room brings `<name>_rows.cl`, `<name>_columns.cl` and `<name>_ref.cl`.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from clinfer.base.layout import Layout
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import (
    Constant,
    Formats,
    KernelParams,
    Operand,
    Stage,
    input_operand,
    nothing,
    output_operand,
)
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.reduction import (
    COLUMN_VECTOR,
    Arranged,
    AxesOf,
    ResultView,
    columns_dispatch,
    columns_of,
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
Arguments = Callable[[KernelParams], Mapping[str, int]]


def axes_given(params: KernelParams) -> tuple[int, ...] | None:
    """The axes that input 1 gives, or None while they are unknown."""
    return normalized_axes(params.values, 1, params.inputs[0].rank)


def as_it_lies(params: KernelParams, layout: Layout) -> TensorView:
    """A tensor of output 0's shape, for operations that keep the shape."""
    return TensorView.of(layout)


class AxisStages:
    """The stages, and how the fast ones arrange the axes.

    `axes_of` gives the axes, None while they are unknown, and `result` output 0, or what tails read, with the axes of
    input 0.
    `constants` are macros of every kernel, besides those of `reduction.py`. The reference has the arguments
    ARG_N, how many elements go into a result, and ARG_RESULTS; with `counts_elements` the others have ARG_N.
    All kernels apply fused tails.
    """

    def __init__(self, name: str, constants: Constants, axes_of: AxesOf = axes_given, result: ResultView = as_it_lies,
                 counts_elements: bool = False) -> None:
        self._name = name
        self._constants = constants
        self._axes_of = axes_of
        self._result = result
        self._arguments: Arguments = self._element_count if counts_elements else nothing
        self.rows = Arranged(rows_of, axes_of, result)
        self.vector_columns = Arranged(vector_columns_of, axes_of, result)
        self.columns = Arranged(columns_of, axes_of, result)

    def formats(self, params: KernelParams) -> Formats:
        """The data as it comes, unless blocks lie along the axes."""
        return unblocked_formats(params, self._axes_of(params))

    def rows_stages(self) -> tuple[Stage, ...]:
        """One work-group per row."""
        return (Stage(f"{self._name}_rows.cl", f"{self._name}_rows", partial(rows_dispatch, self.rows),
                      self.rows.operands, lambda params: {**self._constants(params), **rows_constants(params)},
                      self._arguments, bake=False, tail_view=self.rows.tail_view),)

    def vector_columns_stages(self) -> tuple[Stage, ...]:
        """One work-item per `COLUMN_VECTOR` columns."""
        return self._columns_stages(self.vector_columns, COLUMN_VECTOR)

    def columns_stages(self) -> tuple[Stage, ...]:
        """One work-item per column."""
        return self._columns_stages(self.columns, 1)

    def _columns_stages(self, columns: Arranged, vector: int) -> tuple[Stage, ...]:
        return (Stage(f"{self._name}_columns.cl", f"{self._name}_columns", partial(columns_dispatch, columns, vector),
                      columns.operands, lambda params: {**self._constants(params), "VEC": vector}, self._arguments,
                      bake=False, tail_view=columns.tail_view),)

    def reference_stages(self, built_for: KernelParams) -> tuple[Stage, ...]:
        """One work-item per result."""
        is_open = self._axes_of(built_for) is None

        def operands(params: KernelParams) -> tuple[Operand, ...]:
            data, axes = TensorView.of(params.inputs[0]), self._axes_of(params)
            result = self._result(params, params.outputs[0])
            return (input_operand(params, 0, kept_first(data, axes, is_open)),
                    output_operand(params, 0, kept_first(result, axes, is_open)))

        def tail_view(params: KernelParams, index: int) -> TensorView:
            axes, view = self._axes_of(params), self._result(params, params.tail_inputs[index])
            if axes is not None:
                view = view.broadcast(self._result(params, params.outputs[0]).sizes)
            return kept_first(view, axes, is_open)

        def constants(params: KernelParams) -> Mapping[str, Constant]:
            rank, axes = params.inputs[0].rank, self._axes_of(params)
            return {**self._constants(params), **reference_constants(rank, axes, is_open)}
        return (Stage(f"{self._name}_ref.cl", f"{self._name}_ref",
                      lambda params: local_items(self._counts(params)["results"]), operands, constants, self._counts,
                      bake=False, tail_view=tail_view),)

    def _element_count(self, params: KernelParams) -> dict[str, int]:
        return {"n": self._counts(params)["n"]}

    def _counts(self, params: KernelParams) -> dict[str, int]:
        """`n`, how many elements go into one result, and `results`; 0 while shapes or axes are unknown."""
        data, axes = params.inputs[0], self._axes_of(params)
        if axes is None or not params.is_static:
            return {"n": 0, "results": 0}
        return {"n": reduced_count(data, axes), "results": kept_count(data, axes)}
