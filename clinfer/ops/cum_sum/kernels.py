"""The kernel of the cum_sum room."""
from __future__ import annotations

from math import prod

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
)
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.views import open_view


def _axis(params: KernelParams) -> int | None:
    return params.primitive.axis_of(params.values, params.inputs[0].rank)


def _formats(params: KernelParams) -> Formats:
    """The data as it comes unless it is blocked, the output alike."""
    data, *others = params.inputs
    kept = Format.planar(data.rank) if data.format.blocks else data.format
    return Formats((kept, *(Format.planar(x.rank) for x in others)), (kept,))


def _axis_last(params: KernelParams, layout: Layout) -> TensorView:
    axis = _axis(params)
    if axis is None:
        return open_view(layout.element_type, layout.rank)
    return TensorView.of(layout).permute((*(a for a in range(layout.rank) if a != axis), axis))


def _operands(params: KernelParams) -> tuple[Operand, ...]:
    return (input_operand(params, 0, _axis_last(params, params.inputs[0])),
            output_operand(params, 0, _axis_last(params, params.outputs[0])))


def _constants(params: KernelParams) -> dict[str, Constant]:
    return {"EXCLUSIVE": params.primitive.exclusive, "REVERSE": params.primitive.reverse}


def _rows(params: KernelParams) -> int:
    axis = _axis(params)
    return prod(size for a, size in enumerate(params.inputs[0].static_shape) if a != axis)


def _dispatch(params: KernelParams) -> Dispatch:
    return local_items(_rows(params))


def _arguments(params: KernelParams) -> dict[str, int]:
    return {"rows": _rows(params) if params.is_static and _axis(params) is not None else 0}


KERNELS = (
    KernelSpec("cum_sum_ref", (Stage("cum_sum_ref.cl", "cum_sum_ref", _dispatch, _operands, _constants, _arguments,
                                     bake=False),), formats=_formats),
)
