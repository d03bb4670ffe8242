"""Kernels of the group_norm room."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from clinfer.base.element_type import ElementType
from clinfer.base.format import Format
from clinfer.base.layout import Layout
from clinfer.base.shape import Shape
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
from clinfer.kernels.tails import like_output
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


def _tail_view(params: KernelParams, index: int) -> TensorView:
    """What the n-th tail reads by [B, C, pixels]."""
    return _flat(params.tail_inputs[index]).broadcast(_flat(params.outputs[0]).sizes)


def _is_even(params: KernelParams) -> bool | None:
    """Whether what tails read stretches along all pixels or none, or None while that is open."""
    result = params.outputs[0].shape
    known = [_evenness(layout.shape, result) for layout in params.tail_inputs]
    return False if False in known else None if None in known else True


def _evenness(shape: Shape, result: Shape) -> bool | None:
    if all(size == 1 for size in shape[2:]):
        return True
    if not all(isinstance(size, int) for size in (shape[1], *shape[2:], *result[2:])):
        return None
    return shape[2:] == result[2:]


def _check_even(params: KernelParams) -> str | None:
    return None if _is_even(params) else "what tails read stretches along some of the pixels"


def _even(supports: Callable[[KernelParams], str | None], is_even: bool | None) -> Callable[[KernelParams], str | None]:
    def supported(params: KernelParams) -> str | None:
        known = "open" if is_even else "known already"
        return supports(params) or (None if _is_even(params) is is_even else
                                    f"whether what tails read stretches along all pixels is {known}, or it does not")
    return supported


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
            Stage(f"{result}.cl", result, second, _result_operands, constants, bake=False, tail_view=_tail_view))


def _unpadded_floats(params: KernelParams) -> str | None:
    if params.inputs[0].padding or params.outputs[0].padding:
        return "padded tensors"
    return _floats(params)


def _rows_support(params: KernelParams) -> str | None:
    return _unpadded_floats(params) or (None if params.inputs[0].format.is_planar else "made for planar formats")


def _blocks_support(params: KernelParams) -> str | None:
    blocked = params.inputs[0].format.name in _BLOCKED
    return cpu_only(params) or _unpadded_floats(params) or (None if blocked else "made for blocks of 16 channels")


def _kernels(name: str, stages: tuple[Stage, ...], supports: Callable[[KernelParams], str | None],
             score: float) -> tuple[KernelSpec, ...]:
    """A kernel for tails of which it is known that their pixels are merged, and where each shape decides."""
    return (KernelSpec(name, stages, _even(supports, True), lambda params: score, _formats, scratch=_scratch),
            KernelSpec(f"{name}_if_even", stages, _even(supports, None), lambda params: score - 1, _formats,
                       _check_even, _scratch))


KERNELS = (
    *_kernels("group_norm_fsv16", _two_stages("fsv16", _blocks_dispatch, _pixels_dispatch,
                                              lambda params: {**_constants(params), "PIXELS": PIXELS}),
              _blocks_support, 20.0),
    *_kernels("group_norm_rows", _two_stages("rows", _rows_dispatch, _rows_dispatch, _rows_constants), _rows_support,
              10.0),
    KernelSpec("group_norm_ref", (Stage("group_norm_ref.cl", "group_norm_ref", _reference_dispatch,
                                        constants=_reference_constants, bake=False,
                                        tail_view=like_output(TensorView.of)),), _floats, formats=_formats),
)
