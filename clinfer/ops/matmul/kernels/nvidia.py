"""Matrix products of f16 on NVIDIA's tensor cores."""
from __future__ import annotations

from clinfer.kernels.contract import Kernel, Lowered, Operand, Stage
from clinfer.ops.matmul.problem import MatMulProblem
from clinfer.ops.shared import tensor_cores
from clinfer.ops.shared.tensor_cores import (
    BULK_TILES,
    GROUP_TILES,
    SHARED_TILE,
    THREE_GROUPS_TILE,
    TILES,
    TURNS_TILES,
    BulkTile,
    Tile,
)
from clinfer.runtime.capabilities import Capabilities


class MmaKernel(Kernel[MatMulProblem, Tile]):
    """One tile of the result per group, by warp-level matrix instructions."""

    name = "matmul_mma"
    has_epilogue = True
    source = "matmul_mma.cl"
    tiles: tuple[Tile, ...] = TILES

    def targets(self, device: Capabilities) -> str | None:
        return tensor_cores.needs_tensor_cores(device)

    def configs(self, problem: MatMulProblem) -> tuple[Tile, ...]:
        return self.tiles

    def supports(self, problem: MatMulProblem, tile: Tile) -> str | None:
        if not problem.left_along_k:
            return "a left side along its rows"
        return tensor_cores.refusal(problem, (0, 1), tile.local_bytes)

    def accepts(self, problem: MatMulProblem, tile: Tile) -> str | None:
        product = problem.collapsed
        return tensor_cores.misplaced(tile, ((product.left, -1), (product.right, -2 if problem.right_along_k else -1)))

    def cost(self, problem: MatMulProblem, tile: Tile) -> float:
        return tile.time(problem.capabilities, problem.rows, problem.columns, problem.depth, problem.batch,
                         problem.moved_bytes)

    def lower(self, problem: MatMulProblem, tile: Tile) -> Lowered:
        return Lowered((self.stage(problem, tile),))

    def stage(self, problem: MatMulProblem, tile: Tile, *scratch: Operand) -> Stage:
        """What computes a product, with scratch buffers behind its operands."""
        constants = {**problem.constants, **tile.constants(), "RIGHT_ALONG_K": problem.right_along_k,
                     "ALL_HALVES": tensor_cores.stores_halves(problem)}
        sizes = problem.capabilities, problem.rows, problem.columns, problem.depth, problem.batch
        return Stage(self.source, (*problem.in_place_operands(), *scratch), tile.work(*sizes), constants,
                     tile.arguments(*sizes), problem.epilogue_views(), recipe=tile.recipe)


class WarpGroupKernel(MmaKernel):
    """The same by groups of four warps, as the architecture 9.0 has them."""

    name = "matmul_wgmma"
    tiles = GROUP_TILES

    def targets(self, device: Capabilities) -> str | None:
        return tensor_cores.needs_warp_groups(device)


class BulkKernel(MmaKernel):
    """The same of steps that the tensor memory accelerator copies; one right side for all rows."""

    name = "matmul_tma"
    source = "matmul_tma.cl"
    tiles = (*(BULK_TILES[columns] for columns in (64, 192, 256)), TURNS_TILES[192], THREE_GROUPS_TILE, SHARED_TILE)

    def targets(self, device: Capabilities) -> str | None:
        return tensor_cores.needs_bulk_copies(device)

    def accepts(self, problem: MatMulProblem, tile: Tile) -> str | None:
        if any(size != 1 for size in problem.collapsed.output.sizes[:-2]):
            return "a batch of products"
        return super().accepts(problem, tile)

    def lower(self, problem: MatMulProblem, tile: Tile) -> Lowered:
        assert isinstance(tile, BulkTile)
        operands, nbytes = tile.scratch(problem.capabilities, problem.rows, problem.columns, problem.depth)
        return Lowered((self.stage(problem, tile, *operands),), nbytes)
