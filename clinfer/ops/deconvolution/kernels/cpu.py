"""Transposed convolution from blocks of 16 channels, for CPUs: to blocks of 16, of narrow groups too, or to few planar
channels."""
from __future__ import annotations

from math import ceil, prod

from clinfer.base.format import Format
from clinfer.kernels.contract import C, Constant, Formats, Kernel, Lowered, Stage, Work
from clinfer.ops.deconvolution.problem import DeconvolutionProblem
from clinfer.ops.shared.channel_tiles import BLOCK, BLOCKED_DATA, Tile, group_refusal, refusal, time_on_peak
from clinfer.ops.shared.spatial import LETTERS, per_axis
from clinfer.ops.shared.targets import cpu_only, has_wide_vectors
from clinfer.ops.shared.tile_runs import tiles_of_run, work_of_runs
from clinfer.runtime.capabilities import Capabilities

PANEL_PIXELS = 64
FEW_PIXELS = 14
FEW_RUN = 8 * FEW_PIXELS
TABLE_VECTORS = 512

TILES = (Tile(14, 2, 1.0), Tile(7, 3, 0.97), Tile(14, 1, 0.9), Tile(4, 4, 0.95), Tile(1, 4, 0.4))
NARROW_TILES = (Tile(6, 1, 0.6), Tile(4, 1, 0.55), Tile(2, 2, 0.55), Tile(1, 4, 0.4))
"""Those whose sums the registers hold, with wide vectors and with others."""
NARROW_GROUPS = (1, 2, 4, 8)
"""Channels of a group of which blocks have several."""
_NARROW_GROUPS_SPEED = 0.25
"""Of tiles of such groups, relative to the best."""
_WEIGHTS = {3: "os_yx_is_isv16_osv16", 4: "os_yx_is_isv16_osv16", 5: "os_zyx_is_isv16_osv16"}
_GROUPED_WEIGHTS = {4: "g_os_x_is_isv16_osv16", 5: "g_os_yx_is_isv16_osv16", 6: "g_os_zyx_is_isv16_osv16"}


class _CpuKernel(Kernel[DeconvolutionProblem, C]):
    """What they share."""

    has_epilogue = True

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)

    def supports(self, problem: DeconvolutionProblem, config: C) -> str | None:
        if min(problem.primitive.pads_begin) < 0:
            return "negative pads"
        return refusal(problem) or ("padded channels" if problem.inputs[0].padding.both(1) else None)


def _formats(problem: DeconvolutionProblem, weights: Format, bias: Format, output: Format) -> Formats:
    inputs = [Format.of(BLOCKED_DATA[problem.inputs[0].rank]), weights, *(x.format for x in problem.inputs[2:])]
    if problem.primitive.bias_input is not None:
        inputs[problem.primitive.bias_input] = bias
    return Formats(tuple(inputs), (output,))


class BlocksKernel(_CpuKernel[Tile]):
    """To blocks: each phase of a row is an ordinary convolution."""

    name = "deconvolution_fsv16"
    supports_large = True

    def formats(self, problem: DeconvolutionProblem) -> Formats:
        weights = (_GROUPED_WEIGHTS if problem.primitive.is_grouped else _WEIGHTS)[problem.inputs[1].rank]
        return _formats(problem, Format.of(weights), Format.of("o_osv16"),
                        Format.of(BLOCKED_DATA[problem.inputs[0].rank]))

    def configs(self, problem: DeconvolutionProblem) -> tuple[Tile, ...]:
        return TILES if has_wide_vectors(problem.capabilities) else NARROW_TILES

    def supports(self, problem: DeconvolutionProblem, tile: Tile) -> str | None:
        reason = super().supports(problem, tile)
        if reason:
            return reason
        if problem.outputs[0].padding.both(1):
            return "padded channels"
        too_wide = tile.pixels + _reach(problem) > PANEL_PIXELS
        return group_refusal(problem.groups) or ("a row of the filter is too wide" if too_wide else None)

    def cost(self, problem: DeconvolutionProblem, tile: Tile) -> float:
        *rows, width = problem.output_sizes
        step = problem.strides[2]
        return time_on_peak(problem, tile.flops(problem.batch * prod(rows) * step, ceil(width / step), problem.groups,
                                                problem.products))

    def lower(self, problem: DeconvolutionProblem, tile: Tile) -> Lowered:
        *rows, width = problem.output_sizes
        groups = problem.groups
        tiles = tile.tiles(groups.outputs)
        constants = {**problem.has_bias, "TILE_PIXELS": tile.pixels, "TILE_BLOCKS": tile.blocks,
                     "PANEL_PIXELS": PANEL_PIXELS}
        work = Work((ceil(width / (problem.strides[2] * tile.pixels)), prod(rows),
                     problem.batch * groups.number * tiles), (1, 1, 1))
        arguments = {**problem.steps, "reach": _reach(problem), "tiles": tiles}
        return Lowered((Stage("deconvolution_fsv16.cl", problem.operands(), work, constants, arguments,
                              problem.epilogue_views()),))


def _reach(problem: DeconvolutionProblem) -> int:
    """How many pixels of data to the left of its own an output pixel reads at most."""
    return (problem.filter_sizes[2] - 1) * problem.dilations[2] // problem.strides[2]


class NarrowGroupsKernel(_CpuKernel[int]):
    """Groups of 1, 2, 4 or 8 input and as many output channels; the configuration is the pixels of a tile."""

    name = "deconvolution_groups_fsv16"
    supports_large = True

    def formats(self, problem: DeconvolutionProblem) -> Formats:
        weights = problem.inputs[1]
        size = weights.shape[1]
        name = (_GROUPED_WEIGHTS if problem.primitive.is_grouped else _WEIGHTS)[weights.rank]
        if problem.primitive.is_grouped and isinstance(size, int) and size in NARROW_GROUPS:
            axes = "zyx"[6 - weights.rank:]
            name = f"gs_oi{axes}_gsv16" if size == 1 else f"gs_os_{axes}i_gsv{BLOCK // size}_osv{size}"
        return _formats(problem, Format.of(name), Format.of("o_osv16"), Format.of(BLOCKED_DATA[problem.inputs[0].rank]))

    def configs(self, problem: DeconvolutionProblem) -> tuple[int, ...]:
        return (14,) if has_wide_vectors(problem.capabilities) else (6,)

    def supports(self, problem: DeconvolutionProblem, pixels: int) -> str | None:
        reason = super().supports(problem, pixels)
        if reason:
            return reason
        if problem.outputs[0].padding.both(1):
            return "padded channels"
        groups = problem.groups
        is_narrow = problem.primitive.is_grouped and groups.inputs == groups.outputs and groups.inputs in NARROW_GROUPS
        return None if is_narrow else "not 1, 2, 4 or 8 input and as many output channels per group"

    def cost(self, problem: DeconvolutionProblem, pixels: int) -> float:
        tiles = prod(problem.output_sizes[:2]) * problem.strides[2] * _tiles_of_phase(problem, pixels)
        flops = 2 * problem.batch * _blocks(problem) * BLOCK * tiles * pixels * problem.products
        return time_on_peak(problem, flops / _NARROW_GROUPS_SPEED)

    def lower(self, problem: DeconvolutionProblem, pixels: int) -> Lowered:
        places = prod(problem.output_sizes[:2]) * _tiles_of_phase(problem, pixels)
        others = problem.batch * _blocks(problem)
        flops = 2 * pixels * BLOCK * problem.products * problem.strides[2] / _NARROW_GROUPS_SPEED
        run = tiles_of_run(problem, places * others, flops)
        constants = {**problem.has_bias, "TILE_PIXELS": pixels, "GROUP": problem.groups.outputs}
        return Lowered((Stage("deconvolution_groups_fsv16.cl", problem.operands(), work_of_runs(places, others, run),
                              constants, {**problem.steps, "run": run}, problem.epilogue_views()),))


def _tiles_of_phase(problem: DeconvolutionProblem, pixels: int) -> int:
    """Of a row: of pixels of one phase along x."""
    return ceil(problem.output_sizes[2] / (problem.strides[2] * pixels))


def _blocks(problem: DeconvolutionProblem) -> int:
    """Of output channels of all groups."""
    return ceil(problem.groups.number * problem.groups.outputs / BLOCK)


class FewKernel(_CpuKernel[None]):
    """To few planar channels: all outputs between two steps of the stride, a cell, are one vector."""

    name = "deconvolution_few"

    def formats(self, problem: DeconvolutionProblem) -> Formats:
        return _formats(problem, Format.planar(problem.inputs[1].rank), Format.planar(1),
                        Format.planar(problem.outputs[0].rank))

    def supports(self, problem: DeconvolutionProblem, config: None) -> str | None:
        reason = super().supports(problem, config)
        if reason:
            return reason
        if problem.groups.number != 1:
            return "groups"
        if problem.groups.outputs * problem.phases > BLOCK:
            return "the outputs between two steps of the stride are more than 16"
        too_large = prod(_cells(problem)) * problem.groups.inputs > TABLE_VECTORS
        return "the filter is too large" if too_large else None

    def cost(self, problem: DeconvolutionProblem, config: None) -> float:
        flops = 2 * BLOCK * (problem.batch * problem.pixels / problem.phases) * prod(_cells(problem)) * (
            problem.groups.inputs)
        return time_on_peak(problem, flops)

    def lower(self, problem: DeconvolutionProblem, config: None) -> Lowered:
        named = {"STRIDE": problem.strides, "DILATION": problem.dilations, "CELLS": _cells(problem)}
        constants: dict[str, Constant] = {
            **problem.has_bias, "TILE_PIXELS": FEW_PIXELS, "RUN": FEW_RUN, "TABLE_VECTORS": TABLE_VECTORS,
            **{f"{name}_{letter.upper()}": value for name, values in named.items()
               for letter, value in zip(LETTERS, values, strict=True)}}
        pads = per_axis(problem.pads, 0) if problem.is_static else (0, 0, 0)
        z, y, x = ((size - 1 + pad) // step - pad // step + 1
                   for size, pad, step in zip(problem.output_sizes, pads, problem.strides, strict=True))
        work = Work((ceil(x / FEW_RUN), z * y, problem.batch), (1, 1, 1))
        return Lowered((Stage("deconvolution_few.cl", problem.operands(), work, constants, problem.steps,
                              problem.epilogue_views()),))


def _cells(problem: DeconvolutionProblem) -> tuple[int, ...]:
    """Pixels of data along z, y, x that one cell of the output reads."""
    return tuple((size - 1) * step // stride + 1 for size, step, stride in zip(
        problem.filter_sizes, problem.dilations, problem.strides, strict=True))
