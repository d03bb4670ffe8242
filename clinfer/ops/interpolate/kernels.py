"""Kernels of the interpolate room."""
from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from clinfer.base.format import Format
from clinfer.base.symbols import computed
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import (
    Constant,
    Dispatch,
    Formats,
    KernelParams,
    KernelSpec,
    Stage,
    input_operand,
    output_operand,
)
from clinfer.kernels.tails import like_output
from clinfer.ops.interpolate.op import COORDINATES, MODES, NEAREST, Interpolate
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.reduction import cpu_only


def _axes(params: KernelParams) -> tuple[int, ...]:
    """The resized axes; all while they are unknown."""
    rank = params.inputs[0].rank
    return params.primitive.axes_of(params.values, rank) or tuple(range(rank))


def _formats(params: KernelParams) -> Formats:
    data, *others = params.inputs
    return Formats((data.format, *(Format.planar(x.rank) for x in others)), (data.format,))


def _scales(params: KernelParams) -> list[float]:
    """Per axis of the data, output size over (padded) input size, as the primitive defines it."""
    primitive: Interpolate = params.primitive
    scales = [1.0] * params.inputs[0].rank
    lengths = _lengths(params)
    given = params.values.get(primitive.scales_input)
    for n, axis in enumerate(_axes(params)):
        if primitive.shape_calculation_mode == "scales" and given is not None:
            scales[axis] = float(given.reshape(-1)[n])
        else:
            scales[axis] = computed(_quotient, params.outputs[0].static_shape[axis], lengths[axis])
    return scales


def _quotient(a: int, b: int) -> float:
    """a / b as single precision has it."""
    return float(np.float32(a) / np.float32(b))


def _lengths(params: KernelParams) -> list[int]:
    return [size + sum(params.primitive.pads(axis)) for axis, size in enumerate(params.inputs[0].static_shape)]


def _bits(value: float) -> int:
    """A float as the integer argument that as_float() reads."""
    return computed(_bits_of_number, value)


def _bits_of_number(value: float) -> int:
    return int(struct.unpack("i", struct.pack("f", value))[0])


def _method(params: KernelParams) -> dict[str, Constant]:
    primitive: Interpolate = params.primitive
    return {"MODE": MODES.index(primitive.mode), "NEAREST": NEAREST.index(primitive.nearest_mode),
            "COORDINATES": COORDINATES.index(primitive.coordinate_transformation_mode)}


def _reference_constants(params: KernelParams) -> dict[str, Constant]:
    axes, every = _axes(params), range(params.inputs[0].rank)

    def listed(pattern: str) -> str:
        return "{" + ", ".join(pattern.format(a) for a in every) + "}"
    return {**_method(params), "ANTIALIAS": params.primitive.antialias,
            "CUBE_COEFF": params.primitive.cubic_parameter, "AXIS_COUNT": len(axes),
            "AXES": "{" + ", ".join(map(str, axes)) + "}", "LENGTHS": listed("ARG_LENGTH_{}"),
            "BEGINS": listed("ARG_BEGIN_{}"), "SCALES": listed("ARG_SCALE_{}"),
            "INPUT_SIZES": listed("INPUT0_SIZE_{}"), "OUTPUT_SIZES": listed("OUTPUT0_SIZE_{}")}


def _reference_arguments(params: KernelParams) -> dict[str, int]:
    every = range(params.inputs[0].rank)
    names = [f"{name}_{a}" for name in ("length", "begin", "scale") for a in every]
    if not params.is_static:
        return dict.fromkeys(names, 0)
    bits = [_bits(scale) for scale in _scales(params)]
    begins = [params.primitive.pads(axis)[0] for axis in every]
    return dict(zip(names, [*_lengths(params), *begins, *bits], strict=True))


# -- planes -----------------------------------------------------------------------------------------


def _planes(vector: int, run: int, channels: int, group: int) -> Stage:
    """The stage whose work-items, in groups of `group`, compute runs of that length of `channels` channels."""
    def constants(params: KernelParams) -> dict[str, Constant]:
        mode = min(MODES.index(params.primitive.mode), 1)
        return {**_method(params), "MODE": mode, "VEC": vector, "RUN": run, "CHANNELS": channels,
                "CONTIGUOUS": params.outputs[0].format.is_planar}

    def dispatch(params: KernelParams) -> Dispatch:
        b, f, y, x = params.outputs[0].static_shape
        runs = -(-x // run)
        return Dispatch((-(-runs // group) * group, y, b * -(-f // channels)), (group, 1, 1))
    return Stage("interpolate_planes.cl", "interpolate_planes", dispatch, constants=constants,
                 operands=lambda params: (input_operand(params, 0), output_operand(params)),
                 arguments=_plane_arguments, bake=False, tail_view=like_output(TensorView.of))


def _plane_arguments(params: KernelParams) -> dict[str, int]:
    y, x = (_bits(scale) for scale in _scales(params)[2:]) if params.is_static else (0, 0)
    return {"scale_y": y, "scale_x": x}


def _is_kept(params: KernelParams) -> bool | None:
    """Whether axes 0 and 1 come out as they are, or None while that is open."""
    primitive: Interpolate = params.primitive
    data, result = params.inputs[0].shape, params.outputs[0].shape
    resized = [(n, axis) for n, axis in enumerate(_axes(params)) if axis < 2]
    if resized and primitive.coordinate_transformation_mode == "tf_half_pixel_for_nn":
        return False
    if primitive.shape_calculation_mode == "sizes":
        known = [isinstance(data[axis], int) and isinstance(result[axis], int) for _, axis in resized]
        same = [data[axis] == result[axis] for _, axis in resized]
        return None if not all(known) else all(same)
    given = params.values.get(primitive.scales_input)
    if given is None:
        return None if resized else True
    return all(given.reshape(-1)[n] == 1 for n, _ in resized)


def _planes_support(params: KernelParams, is_kept: bool | None = True) -> str | None:
    """`is_kept`: what must be known of axes 0 and 1."""
    primitive: Interpolate = params.primitive
    if params.inputs[0].rank != 4 or primitive.axes_of(params.values, 4) is None or _is_kept(params) is False:
        return "made for the last two of four axes"
    filters = primitive.mode == "linear" and primitive.antialias
    if primitive.mode not in ("nearest", "linear_onnx", "linear") or filters:
        return "made for nearest neighbours and linear interpolation"
    if any(primitive.pads_begin) or any(primitive.pads_end):
        return "the data is padded"
    if primitive.mode != "nearest" and not params.inputs[0].element_type.is_float:
        return "made for floats"
    if _is_kept(params) is not is_kept:
        return "whether axes 0 and 1 keep their sizes is " + ("open" if is_kept else "known already")
    return None


def _blocked_support(params: KernelParams, is_kept: bool | None = True) -> str | None:
    data, result = params.inputs[0], params.outputs[0]
    if data.format.name != "b_fs_yx_fsv16":
        return f"data in {data.format} is not blocked by 16 channels"
    if data.padding.both(1) or result.padding.both(1):
        return "channels are padded"
    return _planes_support(params, is_kept)


def _planar_on_cpu(params: KernelParams, is_kept: bool | None = True) -> str | None:
    return cpu_only(params) or _planes_support(params, is_kept)


def _check_kept(params: KernelParams) -> str | None:
    return None if _is_kept(params) else "axis 0 or 1 is resized"


def _rows(name: str, stage: Stage, supports: Callable[..., str | None], score: float) -> tuple[KernelSpec, ...]:
    """A kernel for axes 2 and 3: where it is known that the others keep their sizes, and where each shape decides."""
    return (KernelSpec(name, (stage,), supports, lambda params: score, _formats),
            KernelSpec(f"{name}_if_kept", (stage,), lambda params: supports(params, None), lambda params: score - 1,
                       _formats, _check_kept))


KERNELS = (
    *_rows("interpolate_fsv16", _planes(16, 8, 16, 1), _blocked_support, 30.0),
    *_rows("interpolate_runs", _planes(1, 64, 16, 1), _planar_on_cpu, 20.0),
    *_rows("interpolate_planes", _planes(1, 1, 1, 32), _planes_support, 10.0),
    KernelSpec("interpolate_ref", (Stage("interpolate_ref.cl", "interpolate_ref",
                                         lambda params: local_items(params.outputs[0].count),
                                         constants=_reference_constants, arguments=_reference_arguments,
                                         bake=False, tail_view=like_output(TensorView.of)),), formats=_formats),
)
