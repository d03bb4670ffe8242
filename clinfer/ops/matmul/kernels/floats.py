"""Matrix products by assembly on CPUs: of pairs of bf16, where the processor multiplies these, or of floats."""
from __future__ import annotations

from math import ceil
from typing import ClassVar

from clinfer.base.format import Format
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Formats, Kernel, Lowered, Stage, Work, planar_formats
from clinfer.kernels.cost import time_of
from clinfer.ops.matmul.kernels.cpu import PANEL_COLUMNS, BlocksKernel, TileKernel
from clinfer.ops.matmul.problem import MatMulProblem
from clinfer.ops.shared.float_products import (
    BF16,
    F32,
    IN_REGISTERS,
    PAIR_TILES,
    STEP_DEPTH,
    Tiles,
    float_tiles,
    narrow_only,
    rows_refusal,
    tiles_of_rows,
    time_of_tiles,
)
from clinfer.ops.shared.targets import cpu_only
from clinfer.ops.shared.tile_runs import shared_panels, tiles_of_run
from clinfer.runtime.capabilities import Capabilities
from clinfer.symbolic.symbols import computed, larger, pure

ROWS = (32, 16, 14, 13, 8, 4, 1)
"""Of a tile."""
BLOCKS_ROWS = (32, 16, 14, 8)
"""Of the tiles that share decompressed weights."""
_BLOCK = 16
"""Columns that are packed together."""
_MOST_ROW_TILES = 20
"""Of a work-item: beyond, their rows come from afar for each panel."""
_SHARED_VALUES, _SHARED_VALUES_OF_NARROW = 1 << 16, 1 << 14
"""Of panels that a tile multiplies one behind another: they stay in a cache for the next rows. The same of tiles of
narrow vectors."""


class PairsKernel(Kernel[MatMulProblem, int]):
    """Tiles of rows x two vectors of columns, from a right side without a batch that is packed in pairs; the
    configuration is the rows of a tile."""

    name = "matmul_bf16"
    element_type: ClassVar = BF16
    has_epilogue = True
    supports_large = True

    def tiles(self, device: Capabilities) -> Tiles:
        """What it multiplies by."""
        return PAIR_TILES

    def shared_values(self, device: Capabilities) -> int:
        """Of panels that a tile multiplies one behind another."""
        return _SHARED_VALUES

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device) or self.tiles(device).recipe.refusal(device)

    def formats(self, problem: MatMulProblem) -> Formats:
        planar = planar_formats(problem)
        left, right, *others = planar.inputs
        if not problem.right_has_batch:
            right = Format.of("os_is_isv8_osv16_isv2" if problem.primitive.transpose_b else "ns_ks_ksv8_nsv16_ksv2")
        if problem.primitive.bias_input is not None:
            others[problem.primitive.bias_input - 2] = Format.of("o_osv16")
        return Formats((left, right, *others), planar.outputs)

    def configs(self, problem: MatMulProblem) -> tuple[int, ...]:
        return ROWS

    def packed(self, problem: MatMulProblem) -> TensorView:
        """The right side as it is packed, with the axes of the batch."""
        *batch, depth, columns = problem.collapsed.right.sizes
        view = TensorView.dense(BF16, (*batch, ceil(columns / _BLOCK), ceil(depth / STEP_DEPTH) * STEP_DEPTH * _BLOCK))
        return view.broadcast((*problem.collapsed.batch, *view.sizes[-2:]))

    def supports(self, problem: MatMulProblem, tile: int) -> str | None:
        if problem.right_has_batch:
            return "a right side with a batch"
        if any(x.element_type != self.element_type for x in problem.inputs[:2]) or problem.primitive.quantisation:
            return f"sides other than {self.element_type}"
        return problem.types_refusal() or rows_refusal(problem.capabilities, tile)

    def cost(self, problem: MatMulProblem, tile: int) -> float:
        across = ceil(problem.columns / self.tiles(problem.capabilities).columns)
        tiles = problem.batch * tiles_of_rows(problem, problem.rows, tile) * across
        return time_of_tiles(problem, tiles, self.steps(problem), tile)

    def steps(self, problem: MatMulProblem) -> float:
        """Of a tile."""
        return ceil(problem.depth / STEP_DEPTH)

    def lower(self, problem: MatMulProblem, tile: int) -> Lowered:
        product, columns = problem.collapsed, self.tiles(problem.capabilities).columns
        tiles, across = ceil(problem.rows / tile), ceil(problem.columns / columns)
        shared = _tiles_of_item(problem, tile, tiles, across)
        groups = ceil(tiles / shared)
        run = tiles_of_run(problem, groups * across * problem.batch, shared * tile * columns * problem.depth,
                           self.shared_values(problem.capabilities) / (columns * problem.depth + 1))
        work = Work((groups, ceil(across / run), problem.batch), (1, 1, 1))
        is_float = self.element_type == F32
        constants = {**problem.constants, "TILE_ROWS": tile, "VECTOR_FLOATS": columns // 2,
                     "TILES_OF_FLOATS": is_float, "PANELS_JOINED": is_float}
        operands = problem.operands(product.left, self.packed(problem), product.output)
        return Lowered((Stage("matmul_floats.cl", operands, work, constants,
                              {"run": run, "tiles": shared}, problem.epilogue_views(),
                              recipe=self.tiles(problem.capabilities).recipe),))


def _tiles_of_item(problem: MatMulProblem, tile: int, tiles: int, across: int) -> int:
    """How many of a panel's tiles of `tile` rows a work-item computes. All in a few even shares, because they ask for
    the panels that come next; tiles in registers are faster one by one, several panels side by side."""
    if not problem.is_static or tile in IN_REGISTERS:
        return 1
    units = problem.capabilities.compute_units
    return computed(_even_share, tiles, shared_panels(across * problem.batch, tiles, units, _MOST_ROW_TILES))


@pure
def _even_share(tiles: int, most: int) -> int:
    """Of so many tiles that are cut into as few shares of `most` at most as there can be."""
    return larger(ceil(tiles / larger(ceil(tiles / most), 1)), 1)


class FloatsKernel(PairsKernel):
    """The same of floats, whose right side is packed as other kernels have it."""

    name = "matmul_f32"
    element_type = F32

    def tiles(self, device: Capabilities) -> Tiles:
        return float_tiles(device)

    def shared_values(self, device: Capabilities) -> int:
        return _SHARED_VALUES if narrow_only(device) else _SHARED_VALUES_OF_NARROW

    def steps(self, problem: MatMulProblem) -> float:
        return ceil(problem.depth / (STEP_DEPTH // 2)) / 2

    def formats(self, problem: MatMulProblem) -> Formats:
        return TileKernel().formats(problem)

    def configs(self, problem: MatMulProblem) -> tuple[int, ...]:
        return tuple(float_tiles(problem.capabilities).speeds)

    def packed(self, problem: MatMulProblem) -> TensorView:
        return problem.collapsed.packed_in_batch(PANEL_COLUMNS)

    def supports(self, problem: MatMulProblem, tile: int) -> str | None:
        refusal = super().supports(problem, tile)
        if refusal:
            return refusal
        depth = problem.inputs[1].shape[1 if problem.primitive.transpose_b else 0]
        fills = isinstance(depth, int) and depth % (STEP_DEPTH // 2) == 0
        return None if fills else "a depth that is no multiple of 8"


class PairBlocksKernel(BlocksKernel):
    """Several tiles per work-item, of compressed weights: they share what is decompressed, in pairs."""

    name = "matmul_blocks_bf16"
    recipe = PAIR_TILES.recipe

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device) or self.recipe.refusal(device)

    def configs(self, problem: MatMulProblem) -> tuple[int, ...]:
        return BLOCKS_ROWS

    def supports(self, problem: MatMulProblem, tile: int) -> str | None:
        if problem.inputs[0].element_type != BF16:
            return "a left side other than bf16"
        return super().supports(problem, tile) or rows_refusal(problem.capabilities, tile)

    def cost(self, problem: MatMulProblem, tile: int) -> float:
        across = ceil(problem.columns / PAIR_TILES.columns)
        tiles = problem.batch * tiles_of_rows(problem, problem.rows, tile) * across
        unpacking = time_of(problem.capabilities.ceilings, flops=self.unpacking_flops(problem, tile))
        return unpacking + time_of_tiles(problem, tiles, ceil(problem.depth / STEP_DEPTH), tile)
