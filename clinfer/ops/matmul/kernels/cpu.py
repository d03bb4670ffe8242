"""Matrix products for CPUs: few rows at a time, and tiles of rows x a panel of 32 columns, from a right side that is
packed in such panels."""
from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from clinfer.base.format import Format
from clinfer.kernels.contract import (
    BufferRef,
    C,
    Formats,
    Kernel,
    Lowered,
    Operand,
    Stage,
    Work,
    planar_formats,
    scratch_operand,
)
from clinfer.kernels.cost import time_of
from clinfer.kernels.recipe import USUAL
from clinfer.ops.matmul.problem import MatMulProblem
from clinfer.ops.shared.targets import cpu_only, has_wide_vectors
from clinfer.ops.shared.views import static
from clinfer.runtime.capabilities import Capabilities
from clinfer.symbolic.symbols import computed, larger, pure, smaller

VECTOR_COLUMNS = 64
PANEL_COLUMNS = 32
VECTOR = 16
PACKED_ROWS = 64
FEW_ROWS = 4


@dataclass(frozen=True)
class RowTile:
    """Rows of a tile, vectors of 16 columns (2: a panel), and over how many sums of its own each result is spread."""

    rows: int
    vectors: int = 2
    split: int = 1

    def __str__(self) -> str:
        return f"{self.rows}" if self.vectors == 2 else f"{self.rows}x{self.vectors}"


TILES = {RowTile(14): 1.0, RowTile(8): 0.97, RowTile(4): 0.8, RowTile(1, split=4): 0.25}
"""Tiles with their speed relative to the best, without waste, for vector registers that hold 28 vectors of sums."""
NARROW_TILES = {RowTile(6, 1): 0.75, RowTile(4, 1): 0.68, RowTile(2): 0.6, RowTile(1, split=2): 0.45}
"""The same for those that hold 6, or 4 beside those of a whole panel."""
SPEED_OF_ROWS = 0.25
BLOCK_TILES, NARROW_BLOCK_TILES = (14, 8), (2,)
"""Rows of the tiles that share a decompressed block of weights."""
MOST_TILES = 16
BLOCK_DEPTH = 1024
"""Of such a block: 128 KiB."""
ITEMS_PER_UNIT = 4
"""Work-items that keep a core busy to the end."""
_SHARE_OF_PEAK = 0.8
"""What the best tile reaches."""
_PLANAR_BANDWIDTH = 0.6
"""What is reached of memory bandwidth by reading a right side that is not packed."""
_BY_GROUPS = {8: (17.8, 11.7), 4: (12.2, 8.7), 2: (9.7, 7.4), 1: (6.4, 6.4)}
"""Rows of tiles that multiply compressed weights as they are stored, and scale sums of groups: the operations of f32 in
the time of which an element is multiplied, also where half of a tile has rows."""
_UNPACKING, _STORING = 5, 13
"""Operations that decompressing an element of the weights takes, and storing it for other tiles."""


def _panel_formats(problem: MatMulProblem) -> Formats:
    """The right side, and what belongs to it, in panels; the bias in blocks of 16."""
    planar, primitive = planar_formats(problem), problem.primitive
    right = planar.inputs[1]
    if not problem.right_has_batch:
        right = Format.of("os_i_osv32" if primitive.transpose_b else "ks_n_nsv32")
    own = len(problem.inputs) - len(primitive.norm_inputs)
    others = (Format.of("o_osv16" if index == primitive.bias_input else "ks_n_nsv32") for index in range(2, own))
    return Formats((planar.inputs[0], right, *others, *planar.inputs[own:]), planar.outputs)


class _CpuKernel(Kernel[MatMulProblem, C]):
    """What they share."""

    has_epilogue = True
    supports_large = True

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)

    def formats(self, problem: MatMulProblem) -> Formats:
        return _panel_formats(problem)

    def supports(self, problem: MatMulProblem, config: C) -> str | None:
        return problem.types_refusal()


class VectorKernel(_CpuKernel[None]):
    """One row at a time, with the right side as it lies."""

    name = "matmul_vector"

    def formats(self, problem: MatMulProblem) -> Formats:
        packed, planar = _panel_formats(problem), planar_formats(problem)
        return Formats((packed.inputs[0], planar.inputs[1], *packed.inputs[2:]), packed.outputs)

    def supports(self, problem: MatMulProblem, config: None) -> str | None:
        return super().supports(problem, config) or ("quantised weights" if problem.primitive.quantisation else None)

    def cost(self, problem: MatMulProblem, config: None) -> float:
        right = problem.inputs[1].byte_size
        flops = 2 * problem.batch * problem.rows * problem.columns * problem.depth
        return time_of(problem.capabilities.ceilings, flops=flops, efficiency=SPEED_OF_ROWS * _SHARE_OF_PEAK,
                       nbytes=problem.moved_bytes + right * (problem.rows - 1), bandwidth=_PLANAR_BANDWIDTH)

    def lower(self, problem: MatMulProblem, config: None) -> Lowered:
        work = Work((ceil(problem.columns / VECTOR_COLUMNS), problem.rows, problem.batch), (1, 1, 1))
        return Lowered((Stage("matmul_vector.cl", problem.in_place_operands(), work,
                              {**problem.constants, "RIGHT_ALONG_K": problem.right_along_k},
                              epilogue_views=problem.epilogue_views()),))


class TileKernel(_CpuKernel[RowTile]):
    """One tile per work-item. A right side with batches is packed by a stage, else it comes packed."""

    name = "matmul_tile"

    def configs(self, problem: MatMulProblem) -> tuple[RowTile, ...]:
        """Packing for a few rows does not pay."""
        return tuple(tile for tile in _tiles(problem.capabilities)
                     if tile.rows > FEW_ROWS or not problem.right_has_batch)

    def supports(self, problem: MatMulProblem, tile: RowTile) -> str | None:
        is_half = tile.vectors == 1 and problem.primitive.quantisation
        return super().supports(problem, tile) or ("half a panel of quantised weights" if is_half else None)

    def cost(self, problem: MatMulProblem, tile: RowTile) -> float:
        flops = self._flops_of_weight(problem, tile) * problem.columns * problem.depth * problem.batch
        ceilings = problem.capabilities.ceilings
        time = time_of(ceilings, flops=flops, efficiency=_SHARE_OF_PEAK, nbytes=problem.moved_bytes)
        if not problem.right_has_batch:
            return time
        return time + time_of(ceilings, nbytes=2 * problem.inputs[1].byte_size)

    def _flops_of_weight(self, problem: MatMulProblem, tile: RowTile) -> float:
        """Operations in the time of which all tiles multiply one element of the right side."""
        is_compressed = problem.primitive.quantisation is not None
        if is_compressed and tile.rows in _BY_GROUPS:
            halves, (whole, half) = ceil(2 * problem.rows / tile.rows), _BY_GROUPS[tile.rows]
            return halves // 2 * whole + halves % 2 * half
        of_tile = 2 * tile.rows / _tiles(problem.capabilities)[tile] + _UNPACKING * is_compressed
        return ceil(problem.rows / tile.rows) * of_tile

    def lower(self, problem: MatMulProblem, tile: RowTile) -> Lowered:
        work = Work((ceil(problem.rows / tile.rows), ceil(problem.columns / (tile.vectors * VECTOR)), problem.batch),
                    (1, 1, 1))
        constants = {**problem.constants, "TILE_ROWS": tile.rows, "VECTORS": tile.vectors, "SPLIT": tile.split,
                     "IN_PLACE": _reads_in_place(problem), "BY_GROUPS": tile.rows in _BY_GROUPS}
        stage = Stage("matmul_tile.cl", _panel_operands(problem), work, constants,
                      epilogue_views=problem.epilogue_views())
        if not problem.right_has_batch:
            return Lowered((stage,))
        packed = problem.collapsed.packed(PANEL_COLUMNS)
        return Lowered((_packing(problem), stage), (packed.element_type.byte_size(prod(static(packed.sizes))),))


def _tiles(device: Capabilities) -> dict[RowTile, float]:
    return TILES if has_wide_vectors(device) else NARROW_TILES


def _reads_in_place(problem: MatMulProblem) -> bool:
    """Whether rows are multiplied where they lie, which tiles of many rows and columns would spare little by."""
    is_plain = problem.inputs[0].element_type.name == "f32" and problem.left_along_k
    return is_plain and problem.primitive.quantisation is None and not has_wide_vectors(problem.capabilities)


def _panel_operands(problem: MatMulProblem) -> tuple[Operand, ...]:
    product = problem.collapsed
    return problem.operands(product.left, product.packed_in_batch(PANEL_COLUMNS), product.output,
                            BufferRef("scratch", 0) if problem.right_has_batch else None)


def _packing(problem: MatMulProblem) -> Stage:
    """Brings the right side into panels."""
    right = problem.collapsed.right
    *batch, depth, columns = static(right.sizes)
    work = Work((ceil(columns / PANEL_COLUMNS), ceil(depth / PACKED_ROWS), prod(batch)), (1, 1, 1))
    operands = (Operand("INPUT1", BufferRef("input", 1), right),
                scratch_operand(0, problem.collapsed.packed(PANEL_COLUMNS)))
    return Stage("matmul_pack.cl", operands, work, {"RIGHT_ALONG_K": problem.right_along_k, "ROWS": PACKED_ROWS})


class BlocksKernel(_CpuKernel[int]):
    """Several tiles per work-item, of compressed weights: they share what is decompressed."""

    name = "matmul_blocks"
    recipe = USUAL

    def configs(self, problem: MatMulProblem) -> tuple[int, ...]:
        return BLOCK_TILES if has_wide_vectors(problem.capabilities) else NARROW_BLOCK_TILES

    def supports(self, problem: MatMulProblem, tile: int) -> str | None:
        refusal = None if problem.primitive.quantisation else "made for quantised weights"
        return refusal or super().supports(problem, tile)

    def cost(self, problem: MatMulProblem, tile: int) -> float:
        tiles = ceil(problem.rows / tile)
        flops = 2 * tiles * tile * problem.columns * problem.depth * problem.batch / _tiles(
            problem.capabilities)[RowTile(tile)]
        return time_of(problem.capabilities.ceilings, flops=flops + self.unpacking_flops(problem, tile),
                       efficiency=_SHARE_OF_PEAK, nbytes=problem.moved_bytes)

    def unpacking_flops(self, problem: MatMulProblem, tile: int) -> float:
        """Operations that decompressing the weights takes."""
        turns = ceil(ceil(problem.rows / tile) / _tiles_per_item(problem, tile))
        return turns * problem.columns * problem.depth * problem.batch * (_UNPACKING + _STORING)

    def lower(self, problem: MatMulProblem, tile: int) -> Lowered:
        tiles = _tiles_per_item(problem, tile)
        constants = {**problem.constants, "TILE_ROWS": tile, "MOST_TILES": MOST_TILES, "BLOCK_DEPTH": BLOCK_DEPTH}
        work = Work((ceil(problem.rows / (tile * tiles)), ceil(problem.columns / PANEL_COLUMNS), problem.batch),
                    (1, 1, 1))
        return Lowered((Stage(f"{self.name}.cl", _panel_operands(problem), work, constants, {"tiles": tiles},
                              problem.epilogue_views(), recipe=self.recipe),))


def _tiles_per_item(problem: MatMulProblem, tile: int) -> int:
    if not problem.is_static:
        return 1
    panels = ceil(problem.columns / PANEL_COLUMNS)
    return computed(tiles_per_item, ceil(problem.rows / tile), panels, problem.capabilities.compute_units)


@pure
def tiles_per_item(tiles: int, panels: int, units: int) -> int:
    """As many of all tiles as leave enough work-items for every core, up to MOST_TILES; at least 1."""
    items = larger(ceil(tiles / MOST_TILES), smaller(tiles, ceil(ITEMS_PER_UNIT * units / larger(panels, 1))))
    return larger(ceil(tiles / larger(items, 1)), 1)
