"""Kernels of the color_convert room."""
from __future__ import annotations

from clinfer.base.format import Format
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
from clinfer.ops.shared.parts import in_result_order, seen_result
from clinfer.ops.shared.views import static


def _formats(params: KernelParams) -> Formats:
    """Planes as they come, pictures planar."""
    return Formats(tuple(x.format for x in params.inputs), (Format.planar(4),))


def _operands(params: KernelParams) -> tuple[Operand, ...]:
    planes = tuple(input_operand(params, i) for i in range(len(params.inputs)))
    return (*planes, output_operand(params, 0, seen_result(params)))


def _tail_view(params: KernelParams, index: int) -> TensorView:
    view = in_result_order(params, TensorView.of(params.tail_inputs[index]))
    return view.broadcast(seen_result(params).sizes)


def _constants(params: KernelParams) -> dict[str, Constant]:
    primitive = params.primitive
    return {"PLANES": len(params.inputs), "IS_NV12": primitive.source == "nv12", "IS_BGR": primitive.target == "bgr",
            "ROUNDED": not params.inputs[0].element_type.is_float}


def _dispatch(params: KernelParams) -> Dispatch:
    batch, height, width, _ = static(seen_result(params).sizes)
    return local_items(batch * (height // 2) * (width // 2))


KERNELS = (
    KernelSpec("color_convert_ref", formats=_formats, stages=(
        Stage("color_convert_ref.cl", "color_convert_ref", _dispatch, _operands, _constants, bake=False,
              tail_view=_tail_view),)),
)
