"""Convolution on blocks of 16 channels by assembly, on CPUs: of pairs of bf16, where the processor multiplies these, or
of floats."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, prod
from typing import ClassVar

from clinfer.base.format import Format
from clinfer.kernels.contract import Formats, Kernel, Lowered, Stage
from clinfer.ops.convolution.kernels.cpu import FLOAT_WEIGHTS, GROUPED_FLOAT_WEIGHTS, PLANAR_WEIGHTS
from clinfer.ops.convolution.problem import ConvolutionProblem
from clinfer.ops.shared.channel_tiles import BLOCK, BLOCKED_DATA, group_refusal, refusal
from clinfer.ops.shared.float_pixels import PixelTiles, pixel_tiles, same_tiles
from clinfer.ops.shared.float_products import (
    BF16,
    F32,
    PAIR_TILES,
    STEP_DEPTH,
    Tiles,
    float_tiles,
    narrow_only,
    rows_refusal,
    time_of_tiles,
)
from clinfer.ops.shared.targets import cpu_only
from clinfer.ops.shared.tile_runs import shared_panels, tiles_of_run, work_of_runs
from clinfer.runtime.capabilities import Capabilities
from clinfer.symbolic.symbols import computed

PIXELS = (32, 16, 14, 10, 7, 4, 1)
"""Of a tile."""
_PATCH_PIXELS = 1024
"""That are copied at a time: 32 KiB of bf16."""
_COPIED, _MOST_DEPTH = (4, 8, 16), 4096
"""Of planar data: values that are copied at once, of wide filters a multiple of the last, and the most of a pixel."""
_STEPS_OF_COPYING = 0.06
"""Of a tile, in the time of which a row of the filter is copied for all of its pixels."""
_WEIGHTS = {3: "os_is_yx_isv8_osv16_isv2", 4: "os_is_yx_isv8_osv16_isv2", 5: "os_is_zyx_isv8_osv16_isv2"}
_GROUPED_WEIGHTS = {4: "g_os_is_x_isv8_osv16_isv2", 5: "g_os_is_yx_isv8_osv16_isv2",
                    6: "g_os_is_zyx_isv8_osv16_isv2"}


@dataclass(frozen=True)
class PairsConfig:
    """Pixels of a tile; `is_column`: what was one pixel wide when the program was built is computed as a row."""

    pixels: int
    is_column: bool

    def __str__(self) -> str:
        return str(self.pixels)


class PairsKernel(Kernel[ConvolutionProblem, PairsConfig]):
    """Tiles of pixels x two vectors of channels, from blocks to blocks."""

    name = "convolution_bf16"
    has_epilogue = True
    element_type: ClassVar = BF16
    copies_patches: ClassVar[bool] = True
    weights: ClassVar[Mapping[int, str]] = _WEIGHTS
    grouped_weights: ClassVar[Mapping[int, str]] = _GROUPED_WEIGHTS

    def tiles(self, device: Capabilities) -> Tiles:
        """What it multiplies by."""
        return PAIR_TILES

    def pixels(self, device: Capabilities) -> tuple[int, ...]:
        """Of tiles."""
        return PIXELS

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device) or self.tiles(device).recipe.refusal(device)

    def formats(self, problem: ConvolutionProblem) -> Formats:
        primitive, blocked = problem.primitive, Format.of(BLOCKED_DATA[problem.inputs[0].rank])
        weights = (self.grouped_weights if primitive.is_grouped else self.weights)[problem.inputs[1].rank]
        bias = (Format.of("o_osv16"),) if primitive.bias_input is not None else ()
        factor = (blocked,) if primitive.factor_input is not None else ()
        return Formats((blocked, Format.of(weights), *bias, *factor), (blocked,))

    def configs(self, problem: ConvolutionProblem) -> tuple[PairsConfig, ...]:
        return tuple(PairsConfig(pixels, problem.is_column) for pixels in self.pixels(problem.capabilities))

    def accepts(self, problem: ConvolutionProblem, config: PairsConfig) -> str | None:
        return "made for columns" if config.is_column and not problem.is_column else None

    def supports(self, problem: ConvolutionProblem, config: PairsConfig) -> str | None:
        if any(x.element_type != self.element_type for x in problem.inputs[:2]):
            return f"data or weights other than {self.element_type}"
        data = [problem.inputs[i] for i in (0, problem.primitive.factor_input) if i is not None]
        if any(x.padding.both(1) for x in (*data, problem.outputs[0])):
            return "padded channels"
        reason = rows_refusal(problem.capabilities, config.pixels) or refusal(problem) or group_refusal(problem.groups)
        if reason:
            return reason
        row = problem.as_row(config.is_column)
        too_large = prod(row.filter_sizes[:2]) * _row_pixels(row, config.pixels) > _PATCH_PIXELS
        return "the filter is too large" if self.copies_patches and too_large else None

    def cost(self, problem: ConvolutionProblem, config: PairsConfig) -> float:
        pixels, problem = config.pixels, problem.as_row(config.is_column)
        (rows, width), groups = problem.flat_rows, problem.groups
        across = ceil(groups.outputs / self.tiles(problem.capabilities).columns)
        tiles = problem.batch * rows * ceil(width / pixels) * groups.number * across
        return time_of_tiles(problem, tiles, ceil(groups.inputs / STEP_DEPTH) * prod(problem.filter_sizes), pixels)

    def lower(self, problem: ConvolutionProblem, config: PairsConfig) -> Lowered:
        pixels, problem = config.pixels, problem.as_row(config.is_column)
        (rows, width), groups = problem.flat_rows, problem.groups
        channels = self.tiles(problem.capabilities).columns
        tiles = ceil(groups.outputs / channels)
        constants = {**problem.constants, "TILES_OF_FLOATS": self.element_type == F32, "PANELS_JOINED": 0,
                     "VECTOR_FLOATS": channels // 2, "TILE_PIXELS": pixels, "PATCH_PIXELS": _PATCH_PIXELS,
                     "FILTER_TAPS": prod(problem.filter_sizes)}
        places, others = ceil(width / pixels) * rows, problem.batch * groups.number * tiles
        if _copies_all(problem):
            run, across = 1, _tiles_across(problem, places * problem.batch * groups.number, tiles)
        else:
            run, across = tiles_of_run(problem, places * others, pixels * channels * problem.depth), 1
        work = work_of_runs(places, problem.batch * groups.number * ceil(tiles / across), run)
        arguments = {**problem.steps, "tiles": tiles, "row_pixels": _row_pixels(problem, pixels), "run": run,
                     "across": across}
        return Lowered((Stage("convolution_floats.cl", problem.flat_operands(), work, constants, arguments,
                              problem.flat_epilogue_views(), recipe=self.tiles(problem.capabilities).recipe),))


class FloatsKernel(PairsKernel):
    """The same of floats, with wide vectors for filters of one element, with narrow ones for data that is copied."""

    name = "convolution_f32"
    element_type = F32
    weights = FLOAT_WEIGHTS
    grouped_weights = GROUPED_FLOAT_WEIGHTS

    def tiles(self, device: Capabilities) -> Tiles:
        return float_tiles(device)

    def pixels(self, device: Capabilities) -> tuple[int, ...]:
        return tuple(float_tiles(device).speeds)

    def supports(self, problem: ConvolutionProblem, config: PairsConfig) -> str | None:
        reason = super().supports(problem, config)
        if reason:
            return reason
        if narrow_only(problem.capabilities) is None:
            return None if _copies_all(problem) else "made for data that is copied"
        return None if prod(problem.filter_sizes) == 1 else "filters of several elements gain nothing"


class PixelsKernel(FloatsKernel):
    """Tiles of pixels whichever rows they lie in, on narrow vectors, from data that is read where it lies."""

    name = "convolution_pixels"
    copies_patches = False

    def targets(self, device: Capabilities) -> str | None:
        return super().targets(device) or narrow_only(device)

    def configs(self, problem: ConvolutionProblem) -> tuple[PairsConfig, ...]:
        return tuple(PairsConfig(pixels, False) for pixels in self.pixels(problem.capabilities))

    def supports(self, problem: ConvolutionProblem, config: PairsConfig) -> str | None:
        reason = super(FloatsKernel, self).supports(problem, config)
        return reason or ("data that has to be copied" if _copies_all(problem) else None)

    def cost(self, problem: ConvolutionProblem, config: PairsConfig) -> float:
        groups, kind = problem.groups, self.tiles(problem.capabilities)
        tiles = same_tiles(kind, groups.outputs, problem.pixels, config.pixels) * problem.batch * groups.number
        steps = ceil(groups.inputs / (STEP_DEPTH // 2)) / 2 * prod(problem.filter_sizes)
        return time_of_tiles(problem, tiles, steps, config.pixels)

    def lower(self, problem: ConvolutionProblem, config: PairsConfig) -> Lowered:
        tiles = pixel_tiles(problem.groups.outputs, config.pixels)
        places, others = ceil(problem.pixels / tiles.pixels), problem.batch * problem.groups.number * tiles.across
        run = tiles_of_run(problem, places * others, tiles.pixels * tiles.channels * problem.depth)
        constants = {**problem.has_bias, **tiles.constants, "FILTER_TAPS": prod(problem.filter_sizes)}
        return Lowered((Stage("convolution_pixels.cl", problem.operands(), work_of_runs(places, others, run), constants,
                              {**problem.steps, "tiles": tiles.across, "run": run}, problem.epilogue_views(),
                              recipe=self.tiles(problem.capabilities).recipe),))


class PlanarFloatsKernel(PixelsKernel):
    """From planar data, of few channels above all, whose windows are copied."""

    name = "convolution_planar_f32"
    weights = PLANAR_WEIGHTS

    def formats(self, problem: ConvolutionProblem) -> Formats:
        found = super().formats(problem)
        return replace(found, inputs=(Format.planar(problem.inputs[0].rank), *found.inputs[1:]))

    def supports(self, problem: ConvolutionProblem, config: PairsConfig) -> str | None:
        if problem.primitive.is_grouped:
            return "groups"
        if problem.primitive.factor_input is not None:
            return "a factor of the data"
        reason = super(FloatsKernel, self).supports(problem, config)
        if reason:
            return reason
        return None if 0 < problem.depth <= _MOST_DEPTH else "the filter is too large"

    def cost(self, problem: ConvolutionProblem, config: PairsConfig) -> float:
        places, across = problem.batch * ceil(problem.pixels / config.pixels), _blocks(problem)
        copying = _STEPS_OF_COPYING * problem.groups.inputs * prod(problem.filter_sizes[:2]) / across
        return time_of_tiles(problem, places * across, problem.depth / STEP_DEPTH + copying, config.pixels)

    def lower(self, problem: ConvolutionProblem, config: PairsConfig) -> Lowered:
        depth, width = problem.depth, problem.filter_sizes[2]
        tiles = PixelTiles(_blocks(problem), config.pixels, 2)
        constants = {**problem.has_bias, **tiles.constants, "DEPTH": depth, "FILTER_X": width,
                     "COPIED": next((size for size in _COPIED if size >= width), ceil(width / BLOCK) * BLOCK),
                     "LAST_VALUES": depth % STEP_DEPTH or STEP_DEPTH // 2}
        places = ceil(problem.pixels / config.pixels)
        run = tiles_of_run(problem, places * problem.batch, config.pixels * _blocks(problem) * BLOCK * depth)
        return Lowered((Stage("convolution_planar_floats.cl", problem.operands(),
                              work_of_runs(places, problem.batch, run), constants, {**problem.steps, "run": run},
                              problem.epilogue_views(), recipe=self.tiles(problem.capabilities).recipe),))


def _blocks(problem: ConvolutionProblem) -> int:
    """Of output channels."""
    return ceil(problem.groups.outputs / BLOCK)


def _copies_all(problem: ConvolutionProblem) -> bool:
    """Whether no tile reads its data where it lies, so that those of one place had better share their copy."""
    return problem.primitive.factor_input is not None or problem.groups.inputs % (STEP_DEPTH // 2) != 0


def _tiles_across(problem: ConvolutionProblem, places: int, tiles: int) -> int:
    """Tiles of channels of a work-item that share what they copy; 1 while shapes are unknown."""
    if not problem.is_static:
        return 1
    return computed(shared_panels, places, tiles, problem.capabilities.compute_units, tiles)


def _row_pixels(problem: ConvolutionProblem, pixels: int) -> int:
    """Pixels of a row of data that a tile reads."""
    return (pixels - 1) * problem.strides[2] + (problem.filter_sizes[2] - 1) * problem.dilations[2] + 1
