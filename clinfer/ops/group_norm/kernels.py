"""Kernels of the group_norm room."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping

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
from clinfer.ops.shared.reduction import cpu_only, row_lanes, rows_constants
from clinfer.ops.shared.spatial import count

BLOCK = 16
PIXELS = 256
"""Pixels of a block of 16 channels that one work-item normalises."""
_BLOCKED = ("b_fs_yx_fsv16", "b_fs_zyx_fsv16")


def _formats(params: KernelParams) -> Formats:
    """Data and output in the data's format."""
    kept = params.inputs[0].format
    return Formats((kept, *(Format.planar(x.rank) for x in params.inputs[1:])), (kept,))


def _floats(params: KernelParams) -> str | None:
    return None if all(x.element_type.is_float for x in params.inputs) else "made for floats"


def _constants(params: KernelParams) -> dict[str, Constant]:
    return {"EPSILON": float(params.primitive.epsilon), "GROUPS": params.primitive.num_groups}


# -- one group per work-item ------------------------------------------------------------------------


def _reference_dispatch(params: KernelParams) -> Dispatch:
    return local_items(params.outputs[0].static_shape[0] * params.primitive.num_groups)


def _reference_constants(params: KernelParams) -> dict[str, Constant]:
    sizes = ", ".join(f"INPUT0_SIZE_{a}" for a in range(params.inputs[0].rank))
    return {**_constants(params), "SIZES": "{" + sizes + "}"}


# -- statistics per channel, then the result --------------------------------------------------------


def _flat(layout: Layout) -> TensorView:
    """[B, C, pixels] of a layout without padding."""
    sizes = (*layout.shape[:2], count(layout.shape[2:]))
    if layout.format.is_planar:
        return TensorView.dense(layout.element_type, sizes)
    return TensorView.of(Layout(sizes, layout.element_type, Format.of("b_fs_yx_fsv16")))


def _statistics(params: KernelParams) -> TensorView:
    """The mean of each channel, then the mean square of what it leaves: [2, B, C] in the type of arithmetic."""
    name = "f64" if params.inputs[0].element_type.cl_compute == "double" else "f32"
    return TensorView.dense(ElementType.of(name), (2, *params.inputs[0].shape[:2]))


def _scratch(params: KernelParams) -> tuple[int, ...]:
    view = _statistics(params)
    return (view.element_type.byte_size(2 * math.prod(params.inputs[0].static_shape[:2])),)


def _statistics_operands(params: KernelParams) -> tuple[Operand, ...]:
    return input_operand(params, 0, _flat(params.inputs[0])), scratch_operand(0, _statistics(params))


def _result_operands(params: KernelParams) -> tuple[Operand, ...]:
    return (input_operand(params, 0, _flat(params.inputs[0])), input_operand(params, 1), input_operand(params, 2),
            scratch_operand(0, _statistics(params)), output_operand(params, 0, _flat(params.outputs[0])))


def _rows_constants(params: KernelParams) -> Mapping[str, Constant]:
    return {**_constants(params), **rows_constants(params)}


def _rows_dispatch(params: KernelParams) -> Dispatch:
    batch, channels, *_ = params.inputs[0].static_shape
    lanes = row_lanes(params)
    return Dispatch((batch * channels * lanes,), (lanes,))


def _blocks_dispatch(params: KernelParams) -> Dispatch:
    batch, channels, *_ = params.inputs[0].static_shape
    return Dispatch((batch * math.ceil(channels / BLOCK),), (1,))


def _pixels_dispatch(params: KernelParams) -> Dispatch:
    batch, channels, *spatial = params.inputs[0].static_shape
    return Dispatch((math.ceil(math.prod(spatial) / PIXELS), batch * math.ceil(channels / BLOCK)), (1, 1))


def _two_stages(layout: str, first: Callable[[KernelParams], Dispatch], second: Callable[[KernelParams], Dispatch],
                constants: Callable[[KernelParams], Mapping[str, Constant]]) -> tuple[Stage, ...]:
    statistics, result = f"group_norm_statistics_{layout}", f"group_norm_{layout}"
    return (Stage(f"{statistics}.cl", statistics, first, _statistics_operands, constants, bake=False),
            Stage(f"{result}.cl", result, second, _result_operands, constants, bake=False))


def _unpadded_floats(params: KernelParams) -> str | None:
    if params.inputs[0].padding or params.outputs[0].padding:
        return "padded tensors"
    return _floats(params)


def _rows_support(params: KernelParams) -> str | None:
    return _unpadded_floats(params) or (None if params.inputs[0].format.is_planar else "made for planar formats")


def _blocks_support(params: KernelParams) -> str | None:
    blocked = params.inputs[0].format.name in _BLOCKED
    return cpu_only(params) or _unpadded_floats(params) or (None if blocked else "made for blocks of 16 channels")


KERNELS = (
    KernelSpec("group_norm_fsv16", _two_stages("fsv16", _blocks_dispatch, _pixels_dispatch,
                                               lambda params: {**_constants(params), "PIXELS": PIXELS}),
               _blocks_support, lambda params: 20.0, _formats, scratch=_scratch),
    KernelSpec("group_norm_rows", _two_stages("rows", _rows_dispatch, _rows_dispatch, _rows_constants),
               _rows_support, lambda params: 10.0, _formats, scratch=_scratch),
    KernelSpec("group_norm_ref", (Stage("group_norm_ref.cl", "group_norm_ref", _reference_dispatch,
                                        constants=_reference_constants, bake=False),), _floats, formats=_formats),
)
