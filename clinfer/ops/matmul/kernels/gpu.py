"""Matrix products in tiles of local memory."""
from __future__ import annotations

from clinfer.kernels.contract import Kernel, Lowered, Stage
from clinfer.ops.matmul.problem import MatMulProblem
from clinfer.ops.shared import local_tiles


class LocalKernel(Kernel[MatMulProblem, int]):
    """Square tiles, of as many rows and columns as the configuration says; runs on CPUs, slowly."""

    name = "matmul_local"
    has_epilogue = True
    supports_large = True

    def configs(self, problem: MatMulProblem) -> tuple[int, ...]:
        return tuple(local_tiles.SPEEDS)

    def supports(self, problem: MatMulProblem, tile: int) -> str | None:
        return local_tiles.tile_refusal(tile, problem.inputs[0].element_type, problem.capabilities)

    def cost(self, problem: MatMulProblem, tile: int) -> float:
        return local_tiles.tile_time(tile, problem.capabilities, problem.rows, problem.columns, problem.depth,
                                     problem.batch, problem.moved_bytes)

    def lower(self, problem: MatMulProblem, tile: int) -> Lowered:
        constants = {**problem.constants, "TILE": tile, "LEFT_ALONG_K": problem.left_along_k,
                     "RIGHT_ALONG_K": problem.right_along_k}
        work = local_tiles.tile_work(tile, problem.rows, problem.columns, problem.batch)
        return Lowered((Stage("matmul_local.cl", problem.in_place_operands(), work, constants,
                              epilogue_views=problem.epilogue_views()),))
