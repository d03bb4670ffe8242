"""Transposed convolution on blocks of 16 channels by assembly, on CPUs."""
from __future__ import annotations

from math import ceil, prod

from clinfer.kernels.contract import Lowered, Stage
from clinfer.ops.deconvolution.kernels.cpu import BlocksKernel
from clinfer.ops.deconvolution.problem import DeconvolutionProblem
from clinfer.ops.shared.channel_tiles import Tile
from clinfer.ops.shared.float_pixels import pixel_tiles, same_tiles
from clinfer.ops.shared.float_products import F32, STEP_DEPTH, float_tiles, narrow_only, time_of_tiles
from clinfer.ops.shared.tile_runs import tiles_of_run, work_of_runs
from clinfer.runtime.capabilities import Capabilities

_STEPS_TO_BEGIN = 0.7
"""In the time of which a tile begins with the next element of the filter."""


class PixelsKernel(BlocksKernel):
    """To blocks, from floats that are read where they lie, in tiles of pixels of a phase, whichever rows they lie in,
    on narrow vectors."""

    name = "deconvolution_pixels"

    def targets(self, device: Capabilities) -> str | None:
        return super().targets(device) or float_tiles(device).recipe.refusal(device) or narrow_only(device)

    def configs(self, problem: DeconvolutionProblem) -> tuple[Tile, ...]:
        return tuple(Tile(pixels, 1, speed) for pixels, speed in float_tiles(problem.capabilities).speeds.items())

    def supports(self, problem: DeconvolutionProblem, tile: Tile) -> str | None:
        if any(x.element_type != F32 for x in problem.inputs[:2]):
            return f"data or weights other than {F32}"
        reason = super().supports(problem, tile)
        if reason:
            return reason
        return "channels that do not fill half a block" if problem.groups.inputs % (STEP_DEPTH // 2) else None

    def cost(self, problem: DeconvolutionProblem, tile: Tile) -> float:
        groups, taps = problem.groups, prod(problem.filter_sizes) / problem.phases
        steps = (groups.inputs / STEP_DEPTH + _STEPS_TO_BEGIN) * taps
        tiles = same_tiles(float_tiles(problem.capabilities), groups.outputs, _phase_pixels(problem), tile.pixels)
        return time_of_tiles(problem, tiles * problem.batch * groups.number * problem.phases, steps, tile.pixels)

    def lower(self, problem: DeconvolutionProblem, tile: Tile) -> Lowered:
        groups, tiles = problem.groups, pixel_tiles(problem.groups.outputs, tile.pixels)
        places = ceil(_phase_pixels(problem) / tiles.pixels)
        others = problem.batch * groups.number * tiles.across * prod(problem.strides[:2])
        products = ceil(problem.depth / problem.phases) * problem.strides[2]
        run = tiles_of_run(problem, places * others, tiles.pixels * tiles.channels * products)
        constants = {**problem.has_bias, **tiles.constants, "FILTER_TAPS": prod(problem.filter_sizes)}
        return Lowered((Stage("deconvolution_pixels.cl", problem.operands(), work_of_runs(places, others, run),
                              constants, {**problem.steps, "tiles": tiles.across, "run": run},
                              problem.epilogue_views(), recipe=float_tiles(problem.capabilities).recipe),))


def _phase_pixels(problem: DeconvolutionProblem) -> int:
    """Of the first phase, which has no fewer than others."""
    return prod(ceil(size / stride) for size, stride in zip(problem.output_sizes, problem.strides, strict=True))
