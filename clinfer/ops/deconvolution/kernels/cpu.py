"""Transposed convolution from blocks of 16 channels, for CPUs: to blocks of 16, or to few planar channels."""
from __future__ import annotations

from math import ceil, prod

from clinfer.base.format import Format
from clinfer.kernels.contract import C, Constant, Formats, Kernel, Lowered, Stage, Work
from clinfer.ops.deconvolution.problem import DeconvolutionProblem
from clinfer.ops.shared.channel_tiles import BLOCK, BLOCKED_DATA, Tile, group_refusal, refusal, time_on_peak
from clinfer.ops.shared.spatial import LETTERS, per_axis
from clinfer.ops.shared.targets import cpu_only, has_wide_vectors
from clinfer.runtime.capabilities import Capabilities

PANEL_PIXELS = 64
FEW_PIXELS = 14
FEW_RUN = 8 * FEW_PIXELS
TABLE_VECTORS = 512

TILES = (Tile(14, 2, 1.0), Tile(7, 3, 0.97), Tile(14, 1, 0.9), Tile(4, 4, 0.95), Tile(1, 4, 0.4))
NARROW_TILES = (Tile(6, 1, 1.0), Tile(4, 1, 0.92), Tile(2, 2, 0.9), Tile(1, 4, 0.6))
"""Those whose sums the registers hold, with wide vectors and with others."""
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
