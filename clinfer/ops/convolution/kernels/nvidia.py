"""Convolution of f16 on NVIDIA's tensor cores, channels last in memory."""
from __future__ import annotations

from math import ceil

from clinfer.base.format import Format
from clinfer.kernels.contract import Formats, Kernel, Lowered, Stage, planar_formats
from clinfer.ops.convolution.problem import ConvolutionProblem
from clinfer.ops.shared import tensor_cores
from clinfer.ops.shared.spatial import data_view
from clinfer.ops.shared.tensor_cores import CHUNK, GROUP_TILES, TILES, UNALIGNED_TILE, Tile
from clinfer.runtime.capabilities import Capabilities


class MmaKernel(Kernel[ConvolutionProblem, Tile]):
    """One tile of pixels x channels per group, by warp-level matrix instructions."""

    name = "convolution_mma"
    has_epilogue = True

    def targets(self, device: Capabilities) -> str | None:
        return tensor_cores.needs_tensor_cores(device)

    def formats(self, problem: ConvolutionProblem) -> Formats:
        """Channels last; what stands behind data and weights as it comes."""
        if _has_other_axes(problem):
            return planar_formats(problem)
        data, weights = Format.of("byxf"), Format.of("oyxi")
        return Formats((data, weights, *(x.format for x in problem.inputs[2:])), (data,))

    def configs(self, problem: ConvolutionProblem) -> tuple[Tile, ...]:
        return TILES

    def supports(self, problem: ConvolutionProblem, tile: Tile) -> str | None:
        if _has_other_axes(problem):
            return "groups, or three spatial axes"
        if problem.primitive.factor_input is not None:
            return "a factor of the data"
        if not problem.inputs[1].is_static:
            return "the shape of the weights is dynamic"
        if problem.groups.inputs % CHUNK:
            return f"input channels that are no multiple of {CHUNK}"
        return tensor_cores.refusal(problem, (0, 1), tile.local_bytes)

    def accepts(self, problem: ConvolutionProblem, tile: Tile) -> str | None:
        return tensor_cores.misplaced(tile, ((data_view(problem.inputs[0]), 1),))

    def cost(self, problem: ConvolutionProblem, tile: Tile) -> float:
        return tile.time(problem.capabilities, problem.batch * problem.pixels, problem.groups.outputs, problem.depth, 1,
                         problem.moved_bytes)

    def lower(self, problem: ConvolutionProblem, tile: Tile) -> Lowered:
        _, y, x = problem.filter_sizes
        constants = {**problem.constants, **tile.constants(), "FILTER_Y": y, "FILTER_X": x}
        work = tile.work(problem.batch * problem.pixels, problem.groups.outputs)
        return Lowered((Stage("convolution_mma.cl", problem.operands(), work, constants, problem.steps,
                              problem.epilogue_views(), recipe=tile.recipe),))


class WarpGroupKernel(MmaKernel):
    """The same by groups of four warps, as the architecture 9.0 has them."""

    name = "convolution_wgmma"

    def targets(self, device: Capabilities) -> str | None:
        return tensor_cores.needs_warp_groups(device)

    def configs(self, problem: ConvolutionProblem) -> tuple[Tile, ...]:
        return GROUP_TILES


class PlanarMmaKernel(Kernel[ConvolutionProblem, Tile]):
    """Pictures of few channels, plane by plane, to channels last."""

    name = "convolution_mma_planar"
    has_epilogue = True

    def targets(self, device: Capabilities) -> str | None:
        return tensor_cores.needs_tensor_cores(device)

    def formats(self, problem: ConvolutionProblem) -> Formats:
        """Data and weights planar, the result channels last."""
        planar = planar_formats(problem)
        return planar if _has_other_axes(problem) else Formats(planar.inputs, (Format.of("byxf"),))

    def configs(self, problem: ConvolutionProblem) -> tuple[Tile, ...]:
        return (UNALIGNED_TILE,)

    def supports(self, problem: ConvolutionProblem, tile: Tile) -> str | None:
        if _has_other_axes(problem):
            return "groups, or three spatial axes"
        if problem.primitive.factor_input is not None:
            return "a factor of the data"
        if not problem.inputs[1].is_static:
            return "the shape of the weights is dynamic"
        if problem.primitive.dilations[-1] != 1:
            return "a dilation along x"
        return tensor_cores.refusal(problem, (0, 1), tile.local_bytes)

    def cost(self, problem: ConvolutionProblem, tile: Tile) -> float:
        _, y, x = problem.filter_sizes
        depth = problem.groups.inputs * y * ceil(x / CHUNK) * CHUNK
        return tile.time(problem.capabilities, problem.batch * problem.pixels, problem.groups.outputs, depth, 1,
                         problem.moved_bytes)

    def lower(self, problem: ConvolutionProblem, tile: Tile) -> Lowered:
        _, y, x = problem.filter_sizes
        constants = {**problem.constants, **tile.constants(), "FILTER_Y": y, "FILTER_X": x}
        work = tile.work(problem.batch * problem.pixels, problem.groups.outputs)
        return Lowered((Stage("convolution_mma_planar.cl", problem.operands(), work, constants, problem.steps,
                              problem.epilogue_views()),))


def _has_other_axes(problem: ConvolutionProblem) -> bool:
    return problem.primitive.is_grouped or problem.inputs[0].rank > 4
