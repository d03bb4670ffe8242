"""Convolutions of f16 on NVIDIA's tensor cores, channels last in memory."""
from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from clinfer.base.format import Format
from clinfer.kernels.spec import Constant, Formats, KernelParams, KernelSpec, Stage, planar_formats
from clinfer.ops.convolution.geometry import extra_constants, operands, step_arguments, tail_view
from clinfer.ops.shared.spatial import data_view, filter_sizes
from clinfer.ops.shared.tensor_cores import (
    ANYWHERE,
    CHUNK,
    TILES,
    Tile,
    is_aligned,
    tensor_core_refusal,
    tile_refusal,
)


def _formats(params: KernelParams) -> Formats:
    """Channels last; what stands behind data and weights as it comes."""
    if _has_other_axes(params):
        return planar_formats(params)
    data, weights = Format.of("byxf"), Format.of("oyxi")
    return Formats((data, weights, *(x.format for x in params.inputs[2:])), (data,))


def _has_other_axes(params: KernelParams) -> bool:
    return params.primitive.is_grouped or params.inputs[0].rank > 4


def _refusal(tile: Tile, params: KernelParams) -> str | None:
    if _has_other_axes(params):
        return "groups, or three spatial axes"
    if params.primitive.factor_input is not None:
        return "a factor of the data"
    if not params.inputs[1].is_static:
        return "the shape of the weights is dynamic"
    if params.inputs[1].static_shape[1] % CHUNK:
        return f"input channels that are no multiple of {CHUNK}"
    return tensor_core_refusal(params, (0, 1), tile.local_bytes)


def _size(params: KernelParams) -> tuple[int, int]:
    """Pixels and channels of the result."""
    batch, channels, *spatial = params.outputs[0].static_shape
    for size in spatial:
        batch *= size
    return batch, channels


def _constants(tile: Tile, aligned: bool, params: KernelParams) -> Mapping[str, Constant]:
    _, y, x = filter_sizes(params)
    return {**extra_constants(params), **tile.constants(), "FILTER_Y": y, "FILTER_X": x, "ALIGNED": aligned}


def _stage(tile: Tile, aligned: bool) -> Stage:
    return Stage("convolution_mma.cl", "convolution_mma", lambda params: tile.dispatch(*_size(params)), operands,
                 partial(_constants, tile, aligned), step_arguments, bake=False, tail_view=tail_view)


def _aligned_of(tile: Tile) -> KernelSpec:
    def check_shapes(params: KernelParams) -> str | None:
        aligned = is_aligned(data_view(params.inputs[0]), 1)
        return tile_refusal(tile, aligned, *_size(params), 1, params.capabilities.compute_units)

    return KernelSpec(f"convolution_mma_{tile.name}", (_stage(tile, True),), supports=partial(_refusal, tile),
                      check_shapes=check_shapes, score=lambda params: 20.0, formats=_formats)


MMA_KERNELS = (*map(_aligned_of, TILES), KernelSpec(
    "convolution_mma_anywhere", (_stage(ANYWHERE, False),), supports=partial(_refusal, ANYWHERE),
    score=lambda params: 19.5, formats=_formats))
