"""Kernels of the deconvolution room."""
from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import ceil, gcd, prod

from clinfer.base.format import Format
from clinfer.base.shape import Dim
from clinfer.kernels.spec import Constant, Dispatch, Formats, KernelParams, KernelSpec, Stage, planar_formats
from clinfer.ops.deconvolution import fsv16
from clinfer.ops.deconvolution.geometry import group_shape, operands, step_arguments, tail_view
from clinfer.ops.shared.bias import bias_constants
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.local_tiles import SPEEDS, tile_dispatch, tile_efficiency, tile_refusal
from clinfer.ops.shared.spatial import LETTERS, count, dilations, per_axis, strides


def _reference_formats(params: KernelParams) -> Formats:
    """Data as it comes, the output like the data."""
    return Formats(tuple(x.format for x in params.inputs), (params.inputs[0].format,))


def _reference_dispatch(params: KernelParams) -> Dispatch:
    return local_items(params.outputs[0].count)


REFERENCE = KernelSpec("deconvolution_ref", formats=_reference_formats, stages=(
    Stage("deconvolution_ref.cl", "deconvolution_ref", _reference_dispatch, operands, bias_constants,
          step_arguments, bake=False, tail_view=tail_view),))

# -- local memory, for GPUs -------------------------------------------------------------------------

FEW_OUTPUTS = 8
_WEIGHTS = {3: "yxio", 4: "yxio", 5: "zyxio"}
_GROUPED_WEIGHTS = {4: "gxio", 5: "gyxio", 6: "gzyxio"}


def _local_formats(params: KernelParams) -> Formats:
    """Everything planar but the weights, of which neighbouring output channels stand side by side."""
    formats = planar_formats(params)
    weights = (_GROUPED_WEIGHTS if params.primitive.is_grouped else _WEIGHTS)[params.inputs[1].rank]
    return Formats((formats.inputs[0], Format.of(weights), *formats.inputs[2:]), formats.outputs)


def _local_refusal(tile: int, params: KernelParams) -> str | None:
    if not params.inputs[1].is_static:
        return "the shape of the weights is dynamic"
    if min(params.primitive.pads_begin) < 0:
        return "negative pads"
    return tile_refusal(tile, params.inputs[0].element_type, params.capabilities)


def _local_score(tile: int, params: KernelParams) -> float:
    """Below the reference on CPUs, and where a group has so few outputs that most of a tile is wasted."""
    batch, _, *spatial = params.outputs[0].shape
    groups, outputs, _ = group_shape(params)
    pixels, phases = count(tuple(spatial)), prod(strides(params))
    phase = ceil(pixels / phases) if isinstance(pixels, int) else Dim()
    parts = batch * groups * phases if isinstance(batch, int) else batch
    efficiency = tile_efficiency(tile, outputs, phase, parts, params.capabilities.compute_units)
    return efficiency + (-2.0 if outputs < FEW_OUTPUTS or params.capabilities.device_type == "CPU" else 10.0)


def _local_constants(tile: int, params: KernelParams) -> Mapping[str, Constant]:
    steps = {f"STEP_{letter.upper()}": stride // gcd(stride, dilation)
             for letter, stride, dilation in zip(LETTERS, strides(params), dilations(params), strict=True)}
    return {**bias_constants(params), "TILE": tile, **steps}


def _local_dispatch(tile: int, params: KernelParams) -> Dispatch:
    batch, _, *spatial = params.outputs[0].static_shape
    groups, outputs, _ = group_shape(params)
    steps = strides(params)
    pixels = prod(ceil(size / step) for size, step in zip(per_axis(tuple(spatial), 1), steps, strict=True))
    return tile_dispatch(tile, outputs, pixels, batch * groups * prod(steps))


def _local_of(tile: int) -> KernelSpec:
    stage = Stage("deconvolution_local.cl", "deconvolution_local", partial(_local_dispatch, tile), operands,
                  partial(_local_constants, tile), step_arguments, bake=False, tail_view=tail_view)
    return KernelSpec(f"deconvolution_local_{tile}", (stage,), supports=partial(_local_refusal, tile),
                      score=partial(_local_score, tile), formats=_local_formats)


KERNELS = (*fsv16.KERNELS, *(_local_of(tile) for tile in SPEEDS), REFERENCE)
