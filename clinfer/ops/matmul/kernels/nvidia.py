"""Matrix products of f16 on NVIDIA's tensor cores."""
from __future__ import annotations

from clinfer.kernels.contract import Kernel, Lowered, Stage
from clinfer.ops.matmul.problem import MatMulProblem
from clinfer.ops.shared import tensor_cores
from clinfer.ops.shared.tensor_cores import GROUP_TILES, TILES, Tile
from clinfer.runtime.capabilities import Capabilities


class MmaKernel(Kernel[MatMulProblem, Tile]):
    """One tile of the result per group, by warp-level matrix instructions."""

    name = "matmul_mma"
    has_epilogue = True
    tiles: tuple[Tile, ...] = TILES

    def targets(self, device: Capabilities) -> str | None:
        return tensor_cores.needs_tensor_cores(device)

    def configs(self, problem: MatMulProblem) -> tuple[Tile, ...]:
        return self.tiles

    def supports(self, problem: MatMulProblem, tile: Tile) -> str | None:
        if not problem.left_along_k:
            return "a left side along its rows"
        if not (problem.right_along_k or tile.copies_columns):
            return "a right side along its rows, of which the tile's threads would have different parts"
        return tensor_cores.refusal(problem, (0, 1), tile.local_bytes)

    def accepts(self, problem: MatMulProblem, tile: Tile) -> str | None:
        product = problem.collapsed
        return tensor_cores.misplaced(tile, ((product.left, -1), (product.right, -2 if problem.right_along_k else -1)))

    def cost(self, problem: MatMulProblem, tile: Tile) -> float:
        return tile.time(problem.capabilities, problem.rows, problem.columns, problem.depth, problem.batch,
                         problem.moved_bytes)

    def lower(self, problem: MatMulProblem, tile: Tile) -> Lowered:
        constants = {**problem.constants, **tile.constants(), "RIGHT_ALONG_K": problem.right_along_k}
        work = tile.work(problem.capabilities, problem.rows, problem.columns, problem.batch)
        return Lowered((Stage("matmul_mma.cl", problem.in_place_operands(), work, constants,
                              epilogue_views=problem.epilogue_views(), recipe=tile.recipe),))


class WarpGroupKernel(MmaKernel):
    """The same by groups of four warps, as the architecture 9.0 has them."""

    name = "matmul_wgmma"
    tiles = GROUP_TILES

    def targets(self, device: Capabilities) -> str | None:
        return tensor_cores.needs_warp_groups(device)
