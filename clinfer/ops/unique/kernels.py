"""Kernels of the unique room."""
from __future__ import annotations

import math

from clinfer.base.element_type import ElementType
from clinfer.base.format import Format
from clinfer.base.layout import Layout
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
    scratch_operand,
)
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.ordering import key_constants
from clinfer.ops.shared.reduction import row_lanes
from clinfer.ops.shared.view_copy import raw_view
from clinfer.ops.shared.views import at_least_one_axis


def _formats(params: KernelParams) -> Formats:
    """The data as it comes; everything else planar."""
    data, *others = params.inputs
    return Formats((data.format, *(Format.planar(x.rank) for x in others)),
                   tuple(Format.planar(x.rank) for x in params.outputs))


def _axis(params: KernelParams) -> int | None:
    axis = params.primitive.axis
    return None if axis is None else int(axis) % params.inputs[0].rank


# -- finding ----------------------------------------------------------------------------------------


def _items_first(params: KernelParams, layout: Layout) -> TensorView:
    """The view in which the elements of each item follow each other."""
    axis = _axis(params)
    view = at_least_one_axis(TensorView.of(layout))
    return view if axis is None else view.permute((axis, *(a for a in range(layout.rank) if a != axis)))


def _find_operands(params: KernelParams) -> tuple[Operand, ...]:
    scratch = TensorView.dense(ElementType.of("i32"), (2, params.outputs[1].shape[0]))
    return (input_operand(params, 0, _items_first(params, params.inputs[0])),
            *(output_operand(params, i) for i in range(4)), scratch_operand(0, scratch))


def _find_constants(params: KernelParams) -> dict[str, Constant]:
    return {**key_constants(params.inputs[0].element_type), "SORTED": params.primitive.sorted,
            "LANES": row_lanes(params)}


def _find_arguments(params: KernelParams) -> dict[str, int]:
    if not params.is_static:
        return {"items": 0, "parts": 0}
    items, axis = params.outputs[1].count, _axis(params)
    parts = math.prod(size for a, size in enumerate(params.inputs[0].static_shape) if a != axis)
    return {"items": items, "parts": 1 if axis is None else parts}


def _one_group(params: KernelParams) -> Dispatch:
    lanes = row_lanes(params)
    return Dispatch((lanes,), (lanes,))


FIND_KERNELS = (
    KernelSpec("find_unique_ref", formats=_formats, scratch=lambda params: (params.outputs[1].count * 8,), stages=(
        Stage("find_unique_ref.cl", "find_unique_ref", _one_group, _find_operands, _find_constants, _find_arguments,
              bake=False),)),
)


# -- writing ----------------------------------------------------------------------------------------


def _copy_operands(params: KernelParams) -> tuple[Operand, ...]:
    return (input_operand(params, 0, raw_view(at_least_one_axis(TensorView.of(params.inputs[0])))),
            input_operand(params, 2), output_operand(params, 0, raw_view(TensorView.of(params.outputs[0]))))


def _copy_constants(params: KernelParams) -> dict[str, Constant]:
    axis = _axis(params)
    return {"AXIS": -1 if axis is None else axis}


def _place_operands(params: KernelParams) -> tuple[Operand, ...]:
    return (*(input_operand(params, i) for i in (2, 3, 4)), *(output_operand(params, i) for i in (1, 2, 3)))


KERNELS = (
    KernelSpec("unique_ref", formats=_formats, stages=(
        Stage("unique_ref.cl", "unique_ref", lambda params: local_items(params.outputs[0].count), _copy_operands,
              _copy_constants, bake=False),
        Stage("unique_places.cl", "unique_places", lambda params: local_items(params.outputs[2].count),
              _place_operands, bake=False))),
)
