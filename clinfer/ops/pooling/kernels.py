"""Kernels of the pooling room."""
from __future__ import annotations

import math

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import Constant, Dispatch, KernelParams, KernelSpec, Stage, present_formats
from clinfer.kernels.tails import like_output
from clinfer.ops.pooling.op import AvgPool, MaxPool, Pooling
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.reduction import LOWEST, cpu_only

_BLOCKED = ("b_fs_yx_fsv16", "b_fs_zyx_fsv16")
_LETTERS = "ZYX"
_RUN = 64


def _is_max(params: KernelParams) -> bool:
    return isinstance(params.primitive, MaxPool)


def _pads(params: KernelParams) -> list[tuple[int, int]]:
    """Pads per spatial axis; zeros while the layouts are dynamic."""
    primitive: Pooling = params.primitive
    if not params.is_static:
        return [(0, 0)] * len(primitive.kernel)
    return [primitive.pads(axis, size) for axis, size in enumerate(params.inputs[0].static_shape[2:])]


def _common_constants(params: KernelParams) -> dict[str, Constant]:
    primitive = params.primitive
    exclude = isinstance(primitive, AvgPool) and primitive.exclude_pad and primitive.auto_pad != "valid"
    return {"IS_MAX": _is_max(params), "EXCLUDE_PAD": exclude,
            "LOWEST": LOWEST[params.inputs[0].element_type.cl_compute]}


# -- one element per work-item ----------------------------------------------------------------------

_LISTS = ("kernel", "stride", "dilation", "begin", "end")


def _reference_constants(params: KernelParams) -> dict[str, Constant]:
    axes = range(len(params.primitive.kernel))
    lists = {f"{name.upper()}S": "{" + ", ".join(f"ARG_{name.upper()}_{a}" for a in axes) + "}" for name in _LISTS}
    sizes = "{" + ", ".join(f"INPUT0_SIZE_{a}" for a in range(params.inputs[0].rank)) + "}"
    with_index = len(params.outputs) > 1
    index_axis = params.primitive.axis % params.inputs[0].rank if with_index else 0
    return {**_common_constants(params), **lists, "SIZES": sizes, "WITH_INDEX": with_index, "INDEX_AXIS": index_axis,
            "MEAN(sum, count)": _mean(params)}


def _mean(params: KernelParams) -> str:
    return "((sum) / (count))" if params.inputs[0].element_type.is_float else "rint((float)(sum) / (count))"


def _reference_arguments(params: KernelParams) -> dict[str, int]:
    primitive: Pooling = params.primitive
    arguments = {}
    for axis, (begin, end) in enumerate(_pads(params)):
        values = primitive.kernel[axis], primitive.strides[axis], primitive.dilations[axis], begin, end
        arguments.update({f"{name}_{axis}": value for name, value in zip(_LISTS, values, strict=True)})
    return arguments


# -- windows clipped to the data --------------------------------------------------------------------


def _letters(params: KernelParams) -> str:
    return _LETTERS[3 - len(params.primitive.kernel):]


def _clipped_constants(params: KernelParams) -> dict[str, Constant]:
    primitive: Pooling = params.primitive
    constants = {**_common_constants(params), "MEAN(sum, count)": _mean(params)}
    for axis, letter in enumerate(_letters(params)):
        constants[f"KERNEL_{letter}"] = primitive.kernel[axis]
        constants[f"STRIDE_{letter}"] = primitive.strides[axis]
        constants[f"DILATION_{letter}"] = primitive.dilations[axis]
    return constants


def _clipped_arguments(params: KernelParams) -> dict[str, int]:
    arguments = {}
    for letter, (begin, end) in zip(_letters(params), _pads(params), strict=True):
        arguments[f"begin_{letter.lower()}"] = begin
        arguments[f"end_{letter.lower()}"] = end
    return arguments


def _clipped_supports(params: KernelParams) -> str | None:
    if len(params.outputs) > 1:
        return "positions are asked for"
    return None if len(params.primitive.kernel) in (2, 3) else "made for two or three spatial axes"


def _windows(vector: int, outputs: int, group: int) -> Stage:
    """The stage whose work-items, in groups of `group`, compute `outputs` neighbours of `vector` channels."""
    def constants(params: KernelParams) -> dict[str, Constant]:
        return {**_clipped_constants(params), "VEC": vector, "OUTPUTS": outputs}

    def dispatch(params: KernelParams) -> Dispatch:
        b, f, *others, x = params.outputs[0].static_shape
        runs = -(-x // outputs)
        return Dispatch((-(-runs // group) * group, math.prod(others), b * -(-f // vector)), (group, 1, 1))
    return Stage("pool_windows.cl", "pool_windows", dispatch, constants=constants, arguments=_clipped_arguments,
                 bake=False, tail_view=like_output(TensorView.of))


def _blocked_supports(params: KernelParams) -> str | None:
    data, result = params.inputs[0], params.outputs[0]
    if data.format.name not in _BLOCKED:
        return f"data in {data.format} is not blocked by 16 channels"
    if data.padding.both(1) or result.padding.both(1):
        return "channels are padded"
    if not _is_max(params) and not data.element_type.is_float:
        return "means are made for floats"
    return _clipped_supports(params)


def _rows_constants(params: KernelParams) -> dict[str, Constant]:
    return {**_clipped_constants(params), "RUN": _RUN}


def _rows_dispatch(params: KernelParams) -> Dispatch:
    b, f, *others, x = params.outputs[0].static_shape
    return Dispatch((-(-x // _RUN), math.prod(others), b * f), (1, 1, 1))


def _rows_supports(params: KernelParams) -> str | None:
    if not params.inputs[0].format.is_planar:
        return f"data in {params.inputs[0].format} is not contiguous along x"
    if not _is_max(params) and not params.inputs[0].element_type.is_float:
        return "means are made for floats"
    return cpu_only(params) or _clipped_supports(params)


KERNELS = (
    KernelSpec("pool_fsv16", (_windows(16, 4, 1),), _blocked_supports, lambda params: 30.0, present_formats),
    KernelSpec("pool_rows", (Stage("pool_rows.cl", "pool_rows", _rows_dispatch, constants=_rows_constants,
                                   arguments=_clipped_arguments, bake=False,
                                   tail_view=like_output(TensorView.of)),),
               _rows_supports, lambda params: 20.0, present_formats),
    KernelSpec("pool_windows", (_windows(1, 1, 32),), _clipped_supports, lambda params: 10.0, present_formats),
    KernelSpec("pool_ref", (Stage("pool_ref.cl", "pool_ref", lambda params: local_items(params.outputs[0].count),
                                  constants=_reference_constants, arguments=_reference_arguments, bake=False,
                                  tail_view=like_output(TensorView.of)),),
               formats=present_formats),
)
