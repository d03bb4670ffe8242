"""Convolution on blocks of 16 channels, for CPUs: any filter, planar data of few channels, depthwise."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, prod
from typing import NamedTuple

from clinfer.base.format import Format
from clinfer.kernels.contract import C, Formats, Kernel, Lowered, Stage, Work
from clinfer.ops.convolution.problem import DEPTHWISE_WEIGHTS, ConvolutionProblem
from clinfer.ops.shared.channel_tiles import (
    BLOCK,
    BLOCKED_DATA,
    Tile,
    group_refusal,
    refusal,
    time_on_peak,
)
from clinfer.ops.shared.convolving import Groups
from clinfer.ops.shared.targets import cpu_only, has_wide_vectors
from clinfer.ops.shared.tile_runs import tiles_of_run, work_of_runs
from clinfer.runtime.capabilities import Capabilities

PANEL_PIXELS = 256
PLANAR_PANEL_PIXELS = 12288
FEW_CHANNELS = 8

TILES = (Tile(14, 2, 1.0), Tile(7, 3, 0.97), Tile(8, 2, 0.96), Tile(14, 1, 0.9), Tile(4, 4, 0.95), Tile(1, 4, 0.4))
NARROW_TILES = (Tile(6, 1, 0.7), Tile(5, 1, 0.7), Tile(4, 1, 0.64), Tile(2, 2, 0.63), Tile(1, 4, 0.42))
"""Those whose sums the registers hold, with wide vectors and with others."""
DEPTHWISE_TILES, NARROW_DEPTHWISE_TILES = {14: 0.3, 8: 0.24, 7: 0.24}, {14: 0.27, 7: 0.3, 6: 0.31, 4: 0.27}
"""Pixels of a depthwise tile, with the speed of such tiles relative to the best of `TILES`."""
PLANAR_PIXELS, PLANAR_SPEED, NARROW_PLANAR_PIXELS, NARROW_PLANAR_SPEED = 14, 0.9, 6, 0.7
"""Pixels of a tile of planar data, and its speed likewise; of narrow vectors."""
PLANAR_POINT_SPEED = 0.65
"""The same with many channels and filters of one element."""
EMPTY_BLOCK_SPEED = 0.75
"""What is left of a tile's speed where most channels of the data's only block are absent, unless the filter has one
element."""
START_AND_END = 16
"""Products of a pixel and channel in the time of which a tile of blocks finds its place and stores its sums."""
STORE_PRODUCTS = 24
"""Products that a kernel adds up in the time by which storing an element apart from its channel block takes longer."""
_FAR_WEIGHTS = 1 << 19
"""Bytes of weights that seldom are in a near cache when their turn comes."""

FLOAT_WEIGHTS = {3: "os_is_yx_isv16_osv16", 4: "os_is_yx_isv16_osv16", 5: "os_is_zyx_isv16_osv16"}
GROUPED_FLOAT_WEIGHTS = {4: "g_os_is_x_isv16_osv16", 5: "g_os_is_yx_isv16_osv16", 6: "g_os_is_zyx_isv16_osv16"}
PLANAR_WEIGHTS = {3: "os_iyx_osv16", 4: "os_iyx_osv16", 5: "os_izyx_osv16"}
NARROW_GROUPS = (1, 2, 4, 8)
"""Channels of a group of which blocks have several."""
_MOST_FILTER, _MOST_STRIDE = 7, 2
"""Of depthwise filters whose rows are known to the compiler."""


class _CpuKernel(Kernel[ConvolutionProblem, C]):
    """What they share: from blocks, or from planar data, to blocks, or to planar output."""

    has_epilogue = True
    grouped_weights: Mapping[int, str] = GROUPED_FLOAT_WEIGHTS
    weights: Mapping[int, str] = FLOAT_WEIGHTS
    from_planar = False
    to_planar = False

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)

    def formats(self, problem: ConvolutionProblem) -> Formats:
        rank, primitive = problem.inputs[0].rank, problem.primitive
        planar, blocked = Format.planar(rank), Format.of(BLOCKED_DATA[rank])
        weights = (self.grouped_weights if primitive.is_grouped else self.weights)[problem.inputs[1].rank]
        bias = (Format.of("o_osv16"),) if primitive.bias_input is not None else ()
        factor = (blocked,) if primitive.factor_input is not None else ()
        return Formats((planar if self.from_planar else blocked, Format.of(weights), *bias, *factor),
                       (planar if self.to_planar else blocked,))

    def supports(self, problem: ConvolutionProblem, config: C) -> str | None:
        data = [problem.inputs[i] for i in (0, problem.primitive.factor_input) if i is not None]
        if any(x.padding.both(1) for x in (*data, problem.outputs[0])):
            return "padded channels"
        return refusal(problem)

    def time(self, problem: ConvolutionProblem, flops: float) -> float:
        """Nanoseconds of so many operations at the speed of the best tile, and of what planar output takes longer."""
        lost = min(STORE_PRODUCTS, problem.depth / 2) / (problem.depth + START_AND_END) if self.to_planar else 0.0
        return time_on_peak(problem, flops * (1 + lost))


# -- blocks of channels -----------------------------------------------------------------------------


@dataclass(frozen=True)
class BlockConfig:
    """`is_column`: what was one pixel wide when the program was built is computed as a row; `suffix` ends the name."""

    tile: Tile
    is_column: bool
    suffix: str

    def __str__(self) -> str:
        return f"{self.tile}{self.suffix}"


class BlocksKernel(_CpuKernel[BlockConfig]):
    """From blocks to blocks."""

    name = "convolution_fsv16"
    supports_large = True
    suffix = ""

    def configs(self, problem: ConvolutionProblem) -> tuple[BlockConfig, ...]:
        tiles = TILES if has_wide_vectors(problem.capabilities) else NARROW_TILES
        return tuple(BlockConfig(tile, problem.is_column, self.suffix) for tile in tiles)

    def supports(self, problem: ConvolutionProblem, config: BlockConfig) -> str | None:
        return super().supports(problem, config) or group_refusal(problem.groups)

    def accepts(self, problem: ConvolutionProblem, config: BlockConfig) -> str | None:
        return "made for columns" if config.is_column and not problem.is_column else None

    def cost(self, problem: ConvolutionProblem, config: BlockConfig) -> float:
        rows, width = problem.as_row(config.is_column).flat_rows
        is_empty = problem.groups.inputs <= FEW_CHANNELS and prod(problem.filter_sizes) > 1
        products = _reached_depth(problem, config.tile) + START_AND_END
        flops = config.tile.flops(problem.batch * rows, width, problem.groups, products)
        return self.time(problem, flops / (EMPTY_BLOCK_SPEED if is_empty else 1.0))

    def lower(self, problem: ConvolutionProblem, config: BlockConfig) -> Lowered:
        tile, problem = config.tile, problem.as_row(config.is_column)
        (rows, width), groups = problem.flat_rows, problem.groups
        tiles = tile.tiles(groups.outputs)
        panel = _panel(tile, problem)
        constants = {**problem.constants, "PLANAR_OUTPUT": self.to_planar, "TILE_PIXELS": tile.pixels,
                     "TILE_BLOCKS": tile.blocks, "PANEL_PIXELS": PANEL_PIXELS, "JOINED": problem.joined,
                     "IN_PLACE": _reads_in_place(problem),
                     "FAR_WEIGHTS": problem.inputs[1].byte_size >= _FAR_WEIGHTS}
        places, others = ceil(width / tile.pixels) * rows, problem.batch * groups.number * tiles
        run = tiles_of_run(problem, places * others, 2 * tile.pixels * tile.blocks * BLOCK * problem.depth)
        arguments = {**problem.steps, "taps": panel.taps, "phases": panel.phases, "phase_pixels": panel.pixels,
                     "tiles": tiles, "run": run}
        return Lowered((Stage("convolution_fsv16.cl", problem.flat_operands(), work_of_runs(places, others, run),
                              constants, arguments, problem.flat_epilogue_views()),))


class BlocksToPlanarKernel(BlocksKernel):
    """From blocks to planar data."""

    suffix = "_to_planar"
    to_planar = True


def _reached_depth(problem: ConvolutionProblem, tile: Tile) -> float:
    """The products of an output in tiles of a group, in the mean: with the inputs of all smaller groups that have
    outputs in the tile."""
    outputs, width = problem.groups.outputs, tile.blocks * BLOCK
    own = outputs // problem.joined
    reached = [ceil(min(first + width, outputs) / own) - first // own for first in range(0, outputs, width)]
    return problem.depth * sum(reached) / (len(reached) * problem.joined)


def _reads_in_place(problem: ConvolutionProblem) -> bool:
    """Whether floats are multiplied where they lie. Of tiles with many pixels little is spared."""
    is_plain = problem.inputs[0].element_type.name == "f32" and problem.primitive.factor_input is None
    return is_plain and not has_wide_vectors(problem.capabilities)


class _Panel(NamedTuple):
    """Columns of the filter for which a tile reads one row of data at a time, and what it reads: (phases, pixels of
    each), with one column those pixels that it multiplies."""

    taps: int
    phases: int
    pixels: int


def _panel(tile: Tile, problem: ConvolutionProblem) -> _Panel:
    """All columns at a time where they fit and reading them one by one would not be less, as with large dilations."""
    step, taps = problem.strides[2], problem.filter_sizes[2]
    reach = (taps - 1) * problem.dilations[2]
    whole = _Panel(taps, step if reach else 1, tile.pixels + reach // step)
    return whole if whole.phases * whole.pixels <= min(PANEL_PIXELS, taps * tile.pixels) else _Panel(1, 1, tile.pixels)


# -- planar data ------------------------------------------------------------------------------------


class PlanarToBlocksKernel(_CpuKernel[None]):
    """From planar data, of few channels above all, to blocks."""

    name = "convolution_planar_fsv16"
    supports_large = True
    weights = PLANAR_WEIGHTS
    from_planar = True

    def supports(self, problem: ConvolutionProblem, config: None) -> str | None:
        reason = super().supports(problem, config)
        if reason:
            return reason
        if problem.primitive.is_grouped:
            return "groups"
        if problem.primitive.factor_input is not None:
            return "a factor of the data"
        return "the filter is too large" if _panel_pixels(problem) > PLANAR_PANEL_PIXELS else None

    def cost(self, problem: ConvolutionProblem, config: None) -> float:
        is_point = prod(problem.filter_sizes) == 1 and problem.groups.inputs > FEW_CHANNELS
        speed = PLANAR_SPEED if has_wide_vectors(problem.capabilities) else NARROW_PLANAR_SPEED
        tile = Tile(_planar_pixels(problem), 1, PLANAR_POINT_SPEED if is_point else speed)
        *rows, width = problem.output_sizes
        return self.time(problem, tile.flops(problem.batch * prod(rows), width, problem.groups,
                                             problem.depth + START_AND_END))

    def lower(self, problem: ConvolutionProblem, config: None) -> Lowered:
        *rows, width = problem.output_sizes
        pixels = _planar_pixels(problem)
        constants = {**problem.constants, "PLANAR_OUTPUT": self.to_planar, "TILE_PIXELS": pixels,
                     "PANEL_PIXELS": _panel_pixels(problem), "STRIDE_X": problem.strides[2]}
        work = Work((ceil(width / pixels), prod(rows), problem.batch), (1, 1, 1))
        return Lowered((Stage("convolution_planar_fsv16.cl", problem.operands(), work, constants,
                              {**problem.steps, "row_pixels": _row_pixels(problem)}, problem.epilogue_views()),))


class PlanarKernel(PlanarToBlocksKernel):
    """From planar data to planar data."""

    name = "convolution_planar"
    to_planar = True


def _planar_pixels(problem: ConvolutionProblem) -> int:
    """Pixels of a tile."""
    return PLANAR_PIXELS if has_wide_vectors(problem.capabilities) else NARROW_PLANAR_PIXELS


def _panel_pixels(problem: ConvolutionProblem) -> int:
    """Pixels that one work-item reads of all channels."""
    return problem.groups.inputs * prod(problem.filter_sizes[:2]) * _row_pixels(problem)


def _row_pixels(problem: ConvolutionProblem) -> int:
    """Pixels of a row of planar data that one work-item reads, in whole vectors."""
    span = (_planar_pixels(problem) - 1) * problem.strides[2] + (problem.filter_sizes[2] - 1) * problem.dilations[2] + 1
    return ceil(span / 16) * 16


# -- narrow groups ----------------------------------------------------------------------------------


class NarrowGroupsKernel(_CpuKernel[int]):
    """Groups of 1, 2, 4 or 8 input and as many output channels; the configuration is the pixels of a tile."""

    name = "convolution_groups_fsv16"
    supports_large = True

    def formats(self, problem: ConvolutionProblem) -> Formats:
        found, weights = super().formats(problem), problem.inputs[1]
        size = weights.shape[1]
        if not problem.primitive.is_grouped or size not in NARROW_GROUPS:
            return found
        depthwise = DEPTHWISE_WEIGHTS[weights.rank]
        name = depthwise if size == 1 else depthwise.replace("gs_o", "gs_os_").replace(
            "gsv16", f"gsv{BLOCK // size}_osv{size}")
        return Formats((found.inputs[0], Format.of(name), *found.inputs[2:]), found.outputs)

    def configs(self, problem: ConvolutionProblem) -> tuple[int, ...]:
        return tuple(_depthwise_tiles(problem))

    def supports(self, problem: ConvolutionProblem, pixels: int) -> str | None:
        reason = super().supports(problem, pixels)
        if reason is None and problem.primitive.factor_input is not None:
            return "a factor of the data"
        if reason is None and (not problem.primitive.is_grouped or problem.groups.inputs != problem.groups.outputs
                               or problem.groups.inputs not in NARROW_GROUPS):
            return "not 1, 2, 4 or 8 input and as many output channels per group"
        return reason

    def cost(self, problem: ConvolutionProblem, pixels: int) -> float:
        *rows, width = problem.output_sizes
        groups, speed = problem.groups, _depthwise_tiles(problem)[pixels]
        channels = Groups(1, groups.number * groups.outputs, 1)
        whole, exact = (Tile(count, 1, 1.0).flops(problem.batch * prod(rows), width, channels, problem.depth)
                        for count in (pixels, 1))
        # Of a tile beyond the end of a row two thirds are spared: neither products nor sums, but looking for pixels.
        return self.time(problem, (whole + 2 * exact) / (3 * speed))

    def lower(self, problem: ConvolutionProblem, pixels: int) -> Lowered:
        *rows, width = problem.output_sizes
        blocks = ceil(problem.groups.number * problem.groups.outputs / BLOCK)
        places, others = ceil(width / pixels) * prod(rows), problem.batch * blocks
        speed = _depthwise_tiles(problem)[pixels]
        run = tiles_of_run(problem, places * others, 2 * pixels * BLOCK * problem.depth / speed)
        is_known = _reads_once(problem)
        constants = {**problem.constants, "TILE_PIXELS": pixels, "GROUP": problem.groups.outputs,
                     "FILTER_X": problem.filter_sizes[2] if is_known else 0,
                     "STRIDE_X": problem.strides[2] if is_known else 0}
        return Lowered((Stage("convolution_groups_fsv16.cl", problem.operands(), work_of_runs(places, others, run),
                              constants, {**problem.steps, "run": run}, problem.epilogue_views()),))


def _reads_once(problem: ConvolutionProblem) -> bool:
    """Whether a row of the filter has room in registers, so that it is multiplied by a pixel when that is read."""
    return (problem.groups.outputs == 1 and problem.dilations[2] == 1 and problem.filter_sizes[2] <= _MOST_FILTER
            and problem.strides[2] <= _MOST_STRIDE and has_wide_vectors(problem.capabilities))


def _depthwise_tiles(problem: ConvolutionProblem) -> dict[int, float]:
    return DEPTHWISE_TILES if has_wide_vectors(problem.capabilities) else NARROW_DEPTHWISE_TILES
