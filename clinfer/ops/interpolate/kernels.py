"""Kernels of the interpolate room."""
from __future__ import annotations

import struct

import numpy as np

from clinfer.base.format import Format
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
            scales[axis] = float(np.float32(params.outputs[0].static_shape[axis]) / np.float32(lengths[axis]))
    return scales


def _lengths(params: KernelParams) -> list[int]:
    return [size + sum(params.primitive.pads(axis)) for axis, size in enumerate(params.inputs[0].static_shape)]


def _bits(value: float) -> int:
    """A float as the integer argument that as_float() reads."""
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
            "CUBE_COEFF": float(params.primitive.cube_coeff), "AXIS_COUNT": len(axes),
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
        return {**_method(params), "MODE": mode, "VEC": vector, "RUN": run, "CHANNELS": channels}

    def dispatch(params: KernelParams) -> Dispatch:
        b, f, y, x = params.outputs[0].static_shape
        runs = -(-x // run)
        return Dispatch((-(-runs // group) * group, y, b * -(-f // channels)), (group, 1, 1))
    return Stage("interpolate_planes.cl", "interpolate_planes", dispatch, constants=constants,
                 operands=lambda params: (input_operand(params, 0), output_operand(params)),
                 arguments=_plane_arguments, bake=False)


def _plane_arguments(params: KernelParams) -> dict[str, int]:
    y, x = (_bits(scale) for scale in _scales(params)[2:]) if params.is_static else (0, 0)
    return {"scale_y": y, "scale_x": x}


def _planes_support(params: KernelParams) -> str | None:
    primitive: Interpolate = params.primitive
    axes = primitive.axes_of(params.values, params.inputs[0].rank)
    if params.inputs[0].rank != 4 or axes is None or not set(axes) <= {2, 3}:
        return "made for the last two of four axes"
    filters = primitive.mode == "linear" and primitive.antialias
    if primitive.mode not in ("nearest", "linear_onnx", "linear") or filters:
        return "made for nearest neighbours and linear interpolation"
    if any(primitive.pads_begin) or any(primitive.pads_end):
        return "the data is padded"
    if primitive.mode != "nearest" and not params.inputs[0].element_type.is_float:
        return "made for floats"
    return None


def _blocked_support(params: KernelParams) -> str | None:
    data, result = params.inputs[0], params.outputs[0]
    if data.format.name != "b_fs_yx_fsv16":
        return f"data in {data.format} is not blocked by 16 channels"
    if data.padding.both(1) or result.padding.both(1):
        return "channels are padded"
    return _planes_support(params)


def _planar_on_cpu(params: KernelParams) -> str | None:
    return cpu_only(params) or _planes_support(params)


KERNELS = (
    KernelSpec("interpolate_fsv16", (_planes(16, 8, 16, 1),), _blocked_support, lambda params: 30.0, _formats),
    KernelSpec("interpolate_runs", (_planes(1, 64, 16, 1),), _planar_on_cpu, lambda params: 20.0, _formats),
    KernelSpec("interpolate_planes", (_planes(1, 1, 1, 32),), _planes_support, lambda params: 10.0, _formats),
    KernelSpec("interpolate_ref", (Stage("interpolate_ref.cl", "interpolate_ref",
                                         lambda params: local_items(params.outputs[0].count),
                                         constants=_reference_constants, arguments=_reference_arguments,
                                         bake=False),), formats=_formats),
)
