"""Convolution on blocks of 16 channels, for CPUs: any filter, planar data of few channels, depthwise."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import ceil, prod

from clinfer.base.format import Format
from clinfer.kernels.spec import Constant, Dispatch, Formats, KernelParams, KernelSpec, Stage
from clinfer.ops.convolution.columns import as_row, is_column, turned_stage
from clinfer.ops.convolution.geometry import (
    extra_constants,
    flat_operands,
    flat_tail_view,
    group_shape,
    is_pointwise,
    operands,
    output_pixels,
    step_arguments,
    tail_view,
)
from clinfer.ops.shared.channel_tiles import (
    BLOCK,
    BLOCKED_DATA,
    Tile,
    efficiency,
    group_refusal,
    refusal,
    tile_count,
    used,
)
from clinfer.ops.shared.spatial import dilations, filter_sizes, per_axis, strides

PANEL_PIXELS = 256
PLANAR_PANEL_PIXELS = 12288
PLANAR_PIXELS = 14
FEW_CHANNELS = 8

TILES: dict[Tile, float] = {(14, 2): 1.0, (7, 3): 0.97, (8, 2): 0.96, (14, 1): 0.9, (4, 4): 0.95,
                            (1, 4): 0.4}
"""Tiles (pixels, blocks of channels) with their speed relative to the best, without waste."""
DEPTHWISE_TILES = {14: 1.0, 8: 0.93}
"""Pixels of a depthwise tile, with the same."""
PLANAR_SPEED, PLANAR_POINT_SPEED = 0.85, 0.4
"""The speed of the kernel that reads planar data of many channels, and with filters of one element, likewise."""
STORE_PRODUCTS = 24
"""Products that a kernel adds up in the time by which storing an element apart from its channel block takes longer."""

_WEIGHTS = {3: "os_is_yx_isv16_osv16", 4: "os_is_yx_isv16_osv16", 5: "os_is_zyx_isv16_osv16"}
_GROUPED_WEIGHTS = {4: "g_os_is_x_isv16_osv16", 5: "g_os_is_yx_isv16_osv16", 6: "g_os_is_zyx_isv16_osv16"}
_PLANAR_WEIGHTS = {3: "os_iyx_osv16", 4: "os_iyx_osv16", 5: "os_izyx_osv16"}
_DEPTHWISE_WEIGHTS = {4: "gs_oix_gsv16", 5: "gs_oiyx_gsv16", 6: "gs_oizyx_gsv16"}


def _formats(params: KernelParams, weights: Mapping[int, str], is_planar: bool = False) -> Formats:
    rank = params.inputs[0].rank
    blocked = Format.of(BLOCKED_DATA[rank])
    bias = (Format.of("o_osv16"),) if params.primitive.bias_input is not None else ()
    factor = (blocked,) if params.primitive.factor_input is not None else ()
    return Formats((Format.planar(rank) if is_planar else blocked, Format.of(weights[params.inputs[1].rank]), *bias,
                    *factor), (blocked,))


def _any_formats(params: KernelParams) -> Formats:
    return _formats(params, _GROUPED_WEIGHTS if params.primitive.is_grouped else _WEIGHTS)


def _to_planar(kernel: KernelSpec, name: str) -> KernelSpec:
    """The kernel for planar output, a little slower."""
    def formats(params: KernelParams) -> Formats:
        return replace(kernel.formats(params), outputs=(Format.planar(params.outputs[0].rank),))
    return replace(kernel, name=name, formats=formats,
                   score=lambda params: kernel.score(params) - _store_loss(params))


def _store_loss(params: KernelParams) -> float:
    """The part of a kernel's time that planar output takes longer."""
    return min(STORE_PRODUCTS / max(group_shape(params)[2] * prod(filter_sizes(params)), 1), 0.5)


def _planar_formats(params: KernelParams) -> Formats:
    return _formats(params, _GROUPED_WEIGHTS if params.primitive.is_grouped else _PLANAR_WEIGHTS, is_planar=True)


def _depthwise_formats(params: KernelParams) -> Formats:
    return _formats(params, _DEPTHWISE_WEIGHTS if params.primitive.is_grouped else _WEIGHTS)


# -- what is supported ------------------------------------------------------------------------------


def _refusal(params: KernelParams) -> str | None:
    """What no kernel of this file does."""
    padded = any(params.inputs[i].padding.both(1) for i in (0, params.primitive.factor_input) if i is not None) or (
        params.outputs[0].padding.both(1))
    return refusal(params) or ("padded channels" if padded else None)


def _any_refusal(tile: Tile, params: KernelParams) -> str | None:
    too_wide = prod(_phases(tile, params)) > PANEL_PIXELS
    return group_refusal(*group_shape(params)) or ("a row of the filter is too wide" if too_wide else None)


def _planar_refusal(params: KernelParams) -> str | None:
    if group_shape(params)[0] != 1 or params.primitive.is_grouped:
        return "groups"
    if params.primitive.factor_input is not None:
        return "a factor of the data"
    return "the filter is too large" if _panel_pixels(params) > PLANAR_PANEL_PIXELS else None


def _depthwise_refusal(params: KernelParams) -> str | None:
    if not params.primitive.is_grouped or group_shape(params)[1:] != (1, 1):
        return "not one input and one output channel per group"
    return None


# -- tiles ------------------------------------------------------------------------------------------


def _efficiency(tile: Tile, params: KernelParams) -> float:
    return efficiency(tile, TILES[tile], output_pixels(params), group_shape(params)[1])


def _phases(tile: Tile, params: KernelParams) -> tuple[int, int]:
    """(phases, pixels of each) of the panel for one row of a tile."""
    step = strides(params)[2]
    reach = (filter_sizes(params)[2] - 1) * dilations(params)[2]
    return (step if reach else 1), tile[0] + reach // step


def _planar_score(params: KernelParams) -> float:
    """Blocks in which most channels are absent waste time, but hardly so with filters of one element."""
    is_point = prod(filter_sizes(params)) == 1
    if group_shape(params)[2] <= FEW_CHANNELS:
        return 11.0 if is_point else 20.0
    speed = PLANAR_POINT_SPEED if is_point else PLANAR_SPEED
    return 10 + speed * used(params.outputs[0].shape[-1], PLANAR_PIXELS)


def _panel_pixels(params: KernelParams) -> int:
    """Pixels that one work-item reads of all channels."""
    return group_shape(params)[2] * prod(filter_sizes(params)[:2]) * _row_pixels(params)


def _row_pixels(params: KernelParams) -> int:
    """Pixels of a row of planar data that one work-item reads, in whole vectors."""
    span = (PLANAR_PIXELS - 1) * strides(params)[2] + (filter_sizes(params)[2] - 1) * dilations(params)[2] + 1
    return ceil(span / 16) * 16


def _any_constants(tile: Tile, params: KernelParams) -> Mapping[str, Constant]:
    return {**extra_constants(params), **_output_constants(params), "TILE_PIXELS": tile[0], "TILE_BLOCKS": tile[1],
            "PANEL_PIXELS": PANEL_PIXELS}


def _output_constants(params: KernelParams) -> Mapping[str, Constant]:
    return {"PLANAR_OUTPUT": params.outputs[0].format.is_planar}


def _planar_constants(params: KernelParams) -> Mapping[str, Constant]:
    return {**extra_constants(params), **_output_constants(params), "TILE_PIXELS": PLANAR_PIXELS,
            "PANEL_PIXELS": _panel_pixels(params),
            "STRIDE_X": strides(params)[2]}


def _depthwise_constants(pixels: int, params: KernelParams) -> Mapping[str, Constant]:
    return {**extra_constants(params), "TILE_PIXELS": pixels}


def _any_arguments(tile: Tile, params: KernelParams) -> Mapping[str, int]:
    phases, pixels = _phases(tile, params)
    return {**step_arguments(params), "phases": phases, "phase_pixels": pixels,
            "tiles": tile_count(tile, group_shape(params)[1])}


def _planar_arguments(params: KernelParams) -> Mapping[str, int]:
    return {**step_arguments(params), "row_pixels": _row_pixels(params)}


# -- work sizes -------------------------------------------------------------------------------------


def _rows(params: KernelParams) -> tuple[int, int, int]:
    """(batch, rows, pixels of a row) of the output."""
    batch, _, *spatial = params.outputs[0].static_shape
    z, y, x = per_axis(tuple(spatial), 1)
    return batch, z * y, x


def _any_dispatch(tile: Tile, params: KernelParams) -> Dispatch:
    batch, rows, width = _rows(params)
    if is_pointwise(params):
        rows, width = 1, rows * width
    groups, channels, _ = group_shape(params)
    return Dispatch((ceil(width / tile[0]), rows, batch * groups * tile_count(tile, channels)), (1, 1, 1))


def _planar_dispatch(params: KernelParams) -> Dispatch:
    batch, rows, width = _rows(params)
    return Dispatch((ceil(width / PLANAR_PIXELS), rows, batch), (1, 1, 1))


def _depthwise_dispatch(pixels: int, params: KernelParams) -> Dispatch:
    batch, rows, width = _rows(params)
    blocks = ceil(params.outputs[0].static_shape[1] / BLOCK)
    return Dispatch((ceil(width / pixels), rows, batch * blocks), (1, 1, 1))


# -- the table --------------------------------------------------------------------------------------


def _any_kernels(tile: Tile) -> tuple[KernelSpec, KernelSpec]:
    """From blocks to blocks, and from blocks to planar data."""
    stage = Stage("convolution_fsv16.cl", "convolution_fsv16", partial(_any_dispatch, tile), flat_operands,
                  partial(_any_constants, tile), partial(_any_arguments, tile), bake=False, tail_view=flat_tail_view)
    kernel = KernelSpec(
        f"convolution_fsv16_{tile[0]}x{tile[1]}",
        lambda built_for: (turned_stage(stage) if is_column(built_for) else stage,),
        formats=_any_formats, score=lambda params: 10 + _efficiency(tile, as_row(params)),
        supports=lambda params: _refusal(params) or _any_refusal(tile, as_row(params)))
    return kernel, _to_planar(kernel, f"{kernel.name}_to_planar")


def _depthwise_kernel(pixels: int) -> KernelSpec:
    stage = Stage("convolution_depthwise_fsv16.cl", "convolution_depthwise_fsv16", partial(_depthwise_dispatch, pixels),
                  operands, partial(_depthwise_constants, pixels), step_arguments, bake=False, tail_view=tail_view)
    return KernelSpec(f"convolution_depthwise_fsv16_{pixels}", (stage,), formats=_depthwise_formats,
                      score=lambda params: 30 + DEPTHWISE_TILES[pixels] * used(params.outputs[0].shape[-1], pixels),
                      supports=lambda params: _refusal(params) or _depthwise_refusal(params))


_PLANAR_STAGE = Stage("convolution_planar_fsv16.cl", "convolution_planar_fsv16", _planar_dispatch, operands,
                      _planar_constants, _planar_arguments, bake=False, tail_view=tail_view)

_PLANAR_KERNEL = KernelSpec("convolution_planar_fsv16", (_PLANAR_STAGE,), formats=_planar_formats, score=_planar_score,
                            supports=lambda params: _refusal(params) or _planar_refusal(params))

KERNELS = (
    *(_depthwise_kernel(pixels) for pixels in DEPTHWISE_TILES),
    _PLANAR_KERNEL,
    _to_planar(_PLANAR_KERNEL, "convolution_planar"),
    *(kernel for tile in TILES for kernel in _any_kernels(tile)),
)
