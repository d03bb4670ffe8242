"""Kernels of the non_max_suppression room."""
from __future__ import annotations

import math
import struct

from clinfer.base.element_type import ElementType
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
    scratch_operand,
)
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.reduction import row_lanes


def _bits(value: float) -> int:
    """The bits of an f32 as an integer; a value beyond its range as an infinity."""
    with_limits = math.copysign(math.inf, value) if abs(value) > 3.4e38 else value
    return int(struct.unpack("i", struct.pack("f", with_limits))[0])


# -- choosing ---------------------------------------------------------------------------------------


def _scores_left(params: KernelParams) -> TensorView:
    return TensorView.dense(ElementType.of("f32"), params.inputs[1].shape)


def _select_operands(params: KernelParams) -> tuple[Operand, ...]:
    return (input_operand(params, 0), input_operand(params, 1), *(output_operand(params, i) for i in (1, 2, 3)),
            scratch_operand(0, _scores_left(params)))


def _select_constants(params: KernelParams) -> dict[str, Constant]:
    return {"LANES": row_lanes(params), "IS_CENTER": params.primitive.box_encoding == "center"}


def _select_arguments(params: KernelParams) -> dict[str, int]:
    overlap, lowest, sigma = (params.primitive.number(i, params.values) for i in (3, 4, 5))
    return {"overlap": _bits(overlap), "lowest": _bits(lowest), "scale": _bits(-0.5 / sigma if sigma > 0 else 0.0)}


def _each_list(params: KernelParams) -> Dispatch:
    lanes = row_lanes(params)
    return Dispatch((params.outputs[3].count * lanes,), (lanes,))


def _count_operands(params: KernelParams) -> tuple[Operand, ...]:
    return tuple(output_operand(params, i) for i in (0, 3, 4))


SELECT_KERNELS = (
    KernelSpec("select_boxes_ref", scratch=lambda params: (params.inputs[1].count * 4,), stages=(
        Stage("select_boxes_ref.cl", "select_boxes_ref", _each_list, _select_operands, _select_constants,
              _select_arguments, bake=False),
        Stage("count_boxes.cl", "count_boxes", lambda params: Dispatch((1,), (1,)), _count_operands, bake=False))),
)


# -- writing ----------------------------------------------------------------------------------------


def _operands(params: KernelParams) -> tuple[Operand, ...]:
    return (*(input_operand(params, i) for i in (1, 2, 3, 4)), *(output_operand(params, i) for i in (0, 1, 2)))


def _constants(params: KernelParams) -> dict[str, Constant]:
    return {"SORTED": params.primitive.sort_result_descending}


def _arguments(params: KernelParams) -> dict[str, int]:
    if not params.is_static:
        return {"classes": 0, "total": 0}
    return {"classes": params.inputs[5].static_shape[1], "total": params.outputs[0].static_shape[0]}


KERNELS = (
    KernelSpec("non_max_suppression_ref", stages=(
        Stage("non_max_suppression_ref.cl", "non_max_suppression_ref",
              lambda params: local_items(max(params.inputs[1].count, 1)), _operands, _constants, _arguments,
              bake=False),)),
)
