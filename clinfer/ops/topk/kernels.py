"""Kernels of the topk room."""
from __future__ import annotations

import math

from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.base.tensor_view import TensorView
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
from clinfer.ops.shared.ordering import key_constants
from clinfer.ops.shared.reduction import row_lanes

LEAVES = 256
SHORTEST_ROW = 64


def _axis(params: KernelParams) -> int:
    return int(params.primitive.axis) % params.inputs[0].rank


def _axis_last(params: KernelParams, layout: Layout) -> TensorView:
    axis = _axis(params)
    return TensorView.of(layout).permute((*(a for a in range(layout.rank) if a != axis), axis))


def _operands(params: KernelParams) -> tuple[Operand, ...]:
    return (input_operand(params, 0, _axis_last(params, params.inputs[0])),
            *(output_operand(params, i, _axis_last(params, params.outputs[i])) for i in (0, 1)))


def _key_constants(params: KernelParams) -> dict[str, Constant]:
    largest = params.primitive.wants_largest
    return {**key_constants(params.inputs[0].element_type, descending=not largest),
            "BY_PLACE": params.primitive.sorts_by_place}


def _row_count(params: KernelParams) -> int:
    """How many rows there are; an error where they are shorter than k."""
    data, axis = params.inputs[0].static_shape, _axis(params)
    k = params.outputs[0].static_shape[axis]
    if k > data[axis]:
        raise ClinferError("TopK wants more elements than there are", where=params.primitive.where,
                           values={"k": k, "axis": axis, "shape": data}, hint="give a smaller k")
    return math.prod(size for a, size in enumerate(data) if a != axis)


def _rows(params: KernelParams) -> Dispatch:
    return local_items(_row_count(params))


def _arguments(params: KernelParams) -> dict[str, int]:
    return {"rows": _row_count(params) if params.is_static else 0}


# -- one work-group per row -------------------------------------------------------------------------


def _row_groups(params: KernelParams) -> Dispatch:
    lanes = row_lanes(params)
    return Dispatch((_row_count(params) * lanes,), (lanes,))


def _tree_constants(params: KernelParams) -> dict[str, Constant]:
    return {**_key_constants(params), "LANES": row_lanes(params), "LEAVES": LEAVES}


def _by_value(params: KernelParams) -> str | None:
    return "made for the order of values" if params.primitive.sorts_by_place else None


def _long_rows(params: KernelParams) -> str | None:
    length = params.inputs[0].static_shape[_axis(params)]
    return None if length >= SHORTEST_ROW else "the rows are short"


KERNELS = (
    KernelSpec("topk_tree", (Stage("topk_tree.cl", "topk_tree", _row_groups, _operands, _tree_constants, bake=False),),
               _by_value, lambda params: 10.0, present_formats, _long_rows),
    KernelSpec("topk_ref", (Stage("topk_ref.cl", "topk_ref", _rows, _operands, _key_constants, _arguments,
                                  bake=False),), formats=present_formats),
)
