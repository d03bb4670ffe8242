"""Transposed convolution from blocks of 16 channels, for CPUs: to blocks of 16, or to few planar channels."""
from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import ceil, prod

from clinfer.base.format import Format
from clinfer.kernels.spec import Constant, Dispatch, Formats, KernelParams, KernelSpec, Stage
from clinfer.ops.deconvolution.geometry import group_shape, operands, pads, step_arguments, tail_view
from clinfer.ops.shared.bias import bias_constants
from clinfer.ops.shared.channel_tiles import BLOCK, BLOCKED_DATA, Tile, efficiency, group_refusal, refusal, tile_count
from clinfer.ops.shared.spatial import LETTERS, dilations, filter_sizes, per_axis, strides

PANEL_PIXELS = 64
FEW_PIXELS = 14
FEW_RUN = 8 * FEW_PIXELS
TABLE_VECTORS = 512

TILES: dict[Tile, float] = {(14, 2): 1.0, (7, 3): 0.97, (14, 1): 0.9, (4, 4): 0.95, (1, 4): 0.4}
"""Tiles (pixels, blocks of channels) with their speed relative to the best, without waste."""

_WEIGHTS = {3: "is_os_yx_isv16_osv16", 4: "is_os_yx_isv16_osv16", 5: "is_os_zyx_isv16_osv16"}
_GROUPED_WEIGHTS = {4: "g_is_os_x_isv16_osv16", 5: "g_is_os_yx_isv16_osv16", 6: "g_is_os_zyx_isv16_osv16"}


def _formats(params: KernelParams, weights: Format, bias: Format, output: Format) -> Formats:
    inputs = [Format.of(BLOCKED_DATA[params.inputs[0].rank]), weights, *(x.format for x in params.inputs[2:])]
    if params.primitive.bias_input is not None:
        inputs[params.primitive.bias_input] = bias
    return Formats(tuple(inputs), (output,))


def _blocked_formats(params: KernelParams) -> Formats:
    weights = (_GROUPED_WEIGHTS if params.primitive.is_grouped else _WEIGHTS)[params.inputs[1].rank]
    return _formats(params, Format.of(weights), Format.of("o_osv16"), Format.of(BLOCKED_DATA[params.inputs[0].rank]))


def _few_formats(params: KernelParams) -> Formats:
    return _formats(params, Format.planar(params.inputs[1].rank), Format.planar(1),
                    Format.planar(params.outputs[0].rank))


# -- what is supported ------------------------------------------------------------------------------


def _refusal(params: KernelParams) -> str | None:
    """What no kernel of this file does."""
    if min(params.primitive.pads_begin) < 0:
        return "negative pads"
    return refusal(params) or ("padded channels" if params.inputs[0].padding.both(1) else None)


def _blocked_refusal(tile: Tile, params: KernelParams) -> str | None:
    if params.outputs[0].padding.both(1):
        return "padded channels"
    too_wide = tile[0] + _reach(params) > PANEL_PIXELS
    return group_refusal(*group_shape(params)) or ("a row of the filter is too wide" if too_wide else None)


def _few_refusal(params: KernelParams) -> str | None:
    groups, outputs, inputs = group_shape(params)
    if groups != 1:
        return "groups"
    if outputs * prod(strides(params)) > BLOCK:
        return "the outputs between two steps of the stride are more than 16"
    return "the filter is too large" if prod(_cells(params)) * inputs > TABLE_VECTORS else None


# -- tiles ------------------------------------------------------------------------------------------


def _reach(params: KernelParams) -> int:
    """How many pixels of data to the left of its own an output pixel reads at most."""
    return (filter_sizes(params)[2] - 1) * dilations(params)[2] // strides(params)[2]


def _cells(params: KernelParams) -> tuple[int, ...]:
    """Pixels of data along z, y, x that one cell of the output reads."""
    return tuple((size - 1) * step // stride + 1
                 for size, step, stride in zip(filter_sizes(params), dilations(params), strides(params), strict=True))


def _efficiency(tile: Tile, params: KernelParams) -> float:
    width = params.outputs[0].shape[-1]
    phase = ceil(width / strides(params)[2]) if isinstance(width, int) else width
    return efficiency(tile, TILES[tile], phase, group_shape(params)[1])


def _blocked_constants(tile: Tile, params: KernelParams) -> Mapping[str, Constant]:
    return {**bias_constants(params), "TILE_PIXELS": tile[0], "TILE_BLOCKS": tile[1], "PANEL_PIXELS": PANEL_PIXELS}


def _blocked_arguments(tile: Tile, params: KernelParams) -> Mapping[str, int]:
    return {**step_arguments(params), "reach": _reach(params),
            "tiles": tile_count(tile, group_shape(params)[1])}


def _few_constants(params: KernelParams) -> Mapping[str, Constant]:
    named = {"STRIDE": strides(params), "DILATION": dilations(params), "CELLS": _cells(params)}
    return {**bias_constants(params), "TILE_PIXELS": FEW_PIXELS, "RUN": FEW_RUN, "TABLE_VECTORS": TABLE_VECTORS,
            **{f"{name}_{letter.upper()}": value for name, values in named.items()
               for letter, value in zip(LETTERS, values, strict=True)}}


# -- work sizes -------------------------------------------------------------------------------------


def _output_sizes(params: KernelParams) -> tuple[int, int, int, int]:
    """(batch, Z, Y, X) of the output."""
    batch, _, *spatial = params.outputs[0].static_shape
    return (batch, *per_axis(tuple(spatial), 1))


def _blocked_dispatch(tile: Tile, params: KernelParams) -> Dispatch:
    batch, z, y, x = _output_sizes(params)
    step = strides(params)[2]
    groups, channels, _ = group_shape(params)
    return Dispatch((ceil(x / (step * tile[0])), z * y, batch * groups * tile_count(tile, channels)), (1, 1, 1))


def _few_dispatch(params: KernelParams) -> Dispatch:
    batch, *sizes = _output_sizes(params)
    cells = [(size - 1 + pad) // step - pad // step + 1
             for size, pad, step in zip(sizes, pads(params), strides(params), strict=True)]
    return Dispatch((ceil(cells[2] / FEW_RUN), cells[0] * cells[1], batch), (1, 1, 1))


# -- the table --------------------------------------------------------------------------------------


def _blocked_kernel(tile: Tile) -> KernelSpec:
    stage = Stage("deconvolution_fsv16.cl", "deconvolution_fsv16", partial(_blocked_dispatch, tile), operands,
                  partial(_blocked_constants, tile), partial(_blocked_arguments, tile), bake=False,
                  tail_view=tail_view)
    return KernelSpec(f"deconvolution_fsv16_{tile[0]}x{tile[1]}", (stage,), formats=_blocked_formats,
                      score=lambda params: 10 + _efficiency(tile, params),
                      supports=lambda params: _refusal(params) or _blocked_refusal(tile, params))


KERNELS = (
    KernelSpec("deconvolution_few", formats=_few_formats, score=lambda params: 20.0, stages=(
        Stage("deconvolution_few.cl", "deconvolution_few", _few_dispatch, operands, _few_constants, step_arguments,
              bake=False, tail_view=tail_view),), supports=lambda params: _refusal(params) or _few_refusal(params)),
    *(_blocked_kernel(tile) for tile in TILES),
)
