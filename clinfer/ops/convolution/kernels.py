"""Kernels of the convolution room."""
from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import prod

from clinfer.kernels.spec import Constant, Dispatch, Formats, KernelParams, KernelSpec, Stage
from clinfer.ops.convolution import fsv16
from clinfer.ops.convolution.geometry import extra_constants, group_shape, operands, step_arguments, tail_view
from clinfer.ops.convolution.nvidia import MMA_KERNELS
from clinfer.ops.shared.local_tiles import SPEEDS, tile_dispatch, tile_efficiency, tile_refusal
from clinfer.ops.shared.spatial import count, filter_sizes


def _reference_formats(params: KernelParams) -> Formats:
    """Data as it comes, the output like the data."""
    return Formats(tuple(x.format for x in params.inputs), (params.inputs[0].format,))


def _reference_dispatch(params: KernelParams) -> Dispatch:
    return Dispatch((params.outputs[0].count,))


REFERENCE = KernelSpec("convolution_ref", formats=_reference_formats, stages=(
    Stage("convolution_ref.cl", "convolution_ref", _reference_dispatch, operands, extra_constants,
          step_arguments, bake=False, tail_view=tail_view),))

# -- local memory, for GPUs -------------------------------------------------------------------------

FEW_OUTPUTS = 8


def _local_refusal(tile: int, params: KernelParams) -> str | None:
    if not params.inputs[1].is_static:
        return "the shape of the weights is dynamic"
    if params.inputs[1].padding:
        return "padded weights"
    return tile_refusal(tile, params.inputs[0].element_type, params.capabilities)


def _local_score(tile: int, params: KernelParams) -> float:
    """Below the reference on CPUs, and where a group has so few outputs that most of a tile is wasted."""
    batch, _, *spatial = params.outputs[0].shape
    groups, outputs, _ = group_shape(params)
    parts = batch * groups if isinstance(batch, int) else batch
    efficiency = tile_efficiency(tile, outputs, count(tuple(spatial)), parts, params.capabilities.compute_units)
    return efficiency + (-2.0 if outputs < FEW_OUTPUTS or params.capabilities.device_type == "CPU" else 10.0)


def _local_constants(tile: int, params: KernelParams) -> Mapping[str, Constant]:
    z, y, x = filter_sizes(params)
    return {**extra_constants(params), "TILE": tile, "FILTER_Z": z, "FILTER_Y": y, "FILTER_X": x}


def _local_dispatch(tile: int, params: KernelParams) -> Dispatch:
    batch, _, *spatial = params.outputs[0].static_shape
    groups, outputs, _ = group_shape(params)
    return tile_dispatch(tile, outputs, prod(spatial), batch * groups)


def _local_of(tile: int) -> KernelSpec:
    stage = Stage("convolution_local.cl", "convolution_local", partial(_local_dispatch, tile), operands,
                  partial(_local_constants, tile), step_arguments, bake=False, tail_view=tail_view)
    return KernelSpec(f"convolution_local_{tile}", (stage,), supports=partial(_local_refusal, tile),
                      score=partial(_local_score, tile))


KERNELS = (*fsv16.KERNELS, *MMA_KERNELS, *(_local_of(tile) for tile in SPEEDS), REFERENCE)
