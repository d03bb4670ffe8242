"""Convolution in tiles of local memory."""
from __future__ import annotations

from clinfer.kernels.contract import Kernel, Lowered, Stage
from clinfer.ops.convolution.problem import ConvolutionProblem
from clinfer.ops.shared import local_tiles
from clinfer.ops.shared.convolving import few_outputs
from clinfer.ops.shared.spatial import LETTERS


class LocalKernel(Kernel[ConvolutionProblem, int]):
    """Tiles of as many channels and pixels as the configuration says; runs on CPUs, slowly."""

    name = "convolution_local"
    has_epilogue = True
    supports_large = True

    def configs(self, problem: ConvolutionProblem) -> tuple[int, ...]:
        return tuple(local_tiles.SPEEDS)

    def supports(self, problem: ConvolutionProblem, tile: int) -> str | None:
        if not problem.inputs[1].is_static:
            return "the shape of the weights is dynamic"
        if problem.inputs[1].padding:
            return "padded weights"
        return local_tiles.tile_refusal(tile, problem.inputs[0].element_type, problem.capabilities)

    def cost(self, problem: ConvolutionProblem, tile: int) -> float:
        groups = problem.groups
        return local_tiles.tile_time(
            tile, problem.capabilities, groups.outputs, problem.pixels, problem.depth, problem.batch * groups.number,
            problem.moved_bytes, few_outputs(groups))

    def lower(self, problem: ConvolutionProblem, tile: int) -> Lowered:
        filters = {f"FILTER_{letter.upper()}": size
                   for letter, size in zip(LETTERS, problem.filter_sizes, strict=True)}
        groups = problem.groups
        work = local_tiles.tile_work(tile, groups.outputs, problem.pixels, problem.batch * groups.number)
        return Lowered((Stage("convolution_local.cl", problem.operands(), work,
                              {**problem.constants, "TILE": tile, **filters}, problem.steps,
                               problem.epilogue_views()),))
