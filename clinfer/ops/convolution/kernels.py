"""Kernels of the convolution room."""
from __future__ import annotations

from collections.abc import Mapping
from math import ceil, prod

from clinfer.kernels.spec import Constant, Dispatch, Formats, KernelParams, KernelSpec, Stage
from clinfer.ops.convolution import fsv16
from clinfer.ops.convolution.geometry import bias_constants, filter_sizes, group_shape, operands, step_arguments


def _reference_formats(params: KernelParams) -> Formats:
    """Data as it comes, the output like the data."""
    return Formats(tuple(x.format for x in params.inputs), (params.inputs[0].format,))


def _reference_dispatch(params: KernelParams) -> Dispatch:
    return Dispatch((params.outputs[0].count,))


REFERENCE = KernelSpec("convolution_ref", formats=_reference_formats, stages=(
    Stage("convolution_ref.cl", "convolution_ref", _reference_dispatch, operands, bias_constants,
          step_arguments, bake=False),))

# -- local memory, for GPUs -------------------------------------------------------------------------

LOCAL_TILE, LOCAL_SIDE = 64, 16
FEW_OUTPUTS = 8


def _local_refusal(params: KernelParams) -> str | None:
    if not params.inputs[1].is_static:
        return "the shape of the weights is dynamic"
    return "padded weights" if params.inputs[1].padding else None


def _local_score(params: KernelParams) -> float:
    """Below the reference on CPUs, and where a group has so few outputs that most of a tile is wasted."""
    outputs = group_shape(params)[1]
    return -1.0 if outputs < FEW_OUTPUTS or params.capabilities.device_type == "CPU" else 10.0


def _local_constants(params: KernelParams) -> Mapping[str, Constant]:
    z, y, x = filter_sizes(params)
    return {**bias_constants(params), "FILTER_Z": z, "FILTER_Y": y, "FILTER_X": x}


def _local_dispatch(params: KernelParams) -> Dispatch:
    batch, _, *spatial = params.outputs[0].static_shape
    groups, outputs, _ = group_shape(params)
    return Dispatch((ceil(prod(spatial) / LOCAL_TILE) * LOCAL_SIDE, ceil(outputs / LOCAL_TILE) * LOCAL_SIDE,
                     batch * groups), (LOCAL_SIDE, LOCAL_SIDE, 1))


LOCAL = KernelSpec("convolution_local", supports=_local_refusal, score=_local_score, stages=(
    Stage("convolution_local.cl", "convolution_local", _local_dispatch, operands, _local_constants, step_arguments,
          bake=False),))

KERNELS = (*fsv16.KERNELS, LOCAL, REFERENCE)
