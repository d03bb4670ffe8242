"""Products for CPUs in tiles of some rows x a panel of 32 columns, from a right side that is packed in such panels."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import ceil, prod

from clinfer.base.format import Format
from clinfer.base.symbols import computed
from clinfer.kernels.spec import (
    BufferRef,
    Constant,
    Dispatch,
    Formats,
    KernelParams,
    KernelSpec,
    Operand,
    Stage,
    planar_formats,
    scratch_operand,
)
from clinfer.ops.matmul.operands import all_operands, collapsed, common_constants, input_of, right_along_k
from clinfer.ops.matmul.views import rows_of, tail_view_of
from clinfer.ops.matmul.weights import formats_of_others, types_refusal
from clinfer.ops.shared.views import static

PANEL_COLUMNS = 32
PACKED_ROWS = 64
FEW_ROWS = 4
TILES = {14: 1.0, 8: 0.97, 4: 0.8, 1: 0.25}
"""Rows of a tile with the speed of such tiles relative to the best, without waste."""
SPLIT = {1: 4}
BLOCK_TILES = (14, 8)
"""Rows of the tiles that share a decompressed block of weights."""
MOST_TILES = 16
BLOCK_DEPTH = 1024
"""Of such a block: 128 KiB."""
DIRECT_TILES = 2
"""As many tiles are faster if each decompresses weights on its own, while it waits for them."""
ITEMS_PER_UNIT = 4
"""Work-items that keep a core busy to the end."""


def packs_itself(params: KernelParams) -> bool:
    """Whether the right side has batches: it is then packed by a stage, else by its format."""
    return params.inputs[1].rank != 2


def tile_formats(params: KernelParams) -> Formats:
    """The right side, and what belongs to it, in panels."""
    planar = planar_formats(params)
    right = planar.inputs[1]
    if not packs_itself(params):
        right = Format.of("os_i_osv32" if params.primitive.transpose_b else "ks_n_nsv32")
    return Formats((planar.inputs[0], right, *formats_of_others(params)), planar.outputs)


def tile_refusal(params: KernelParams) -> str | None:
    """What keeps kernels of this kind from a product."""
    if params.capabilities.device_type != "CPU":
        return "made for CPUs"
    return types_refusal(params)


def _is_useful(tile: int, params: KernelParams) -> bool:
    """Whether tiles of that many rows have a use: packing for a few rows does not pay."""
    return tile > FEW_ROWS or not packs_itself(params)


def _best_tile(rows: int, params: KernelParams) -> int:
    """The rows of the tile that wastes least of its speed on rows that do not exist."""
    useful = [tile for tile in TILES if _is_useful(tile, params)]
    return max(useful, key=lambda tile: TILES[tile] * rows / (ceil(rows / tile) * tile))


def _operands(params: KernelParams) -> tuple[Operand, ...]:
    product = collapsed(params)
    buffer = BufferRef("scratch", 0) if packs_itself(params) else BufferRef("input", 1)
    right = input_of(1, product.packed_in_batch(PANEL_COLUMNS), buffer)
    return all_operands(params, input_of(0, product.left), right, product.output)


# -- packing ----------------------------------------------------------------------------------------


def _pack_operands(params: KernelParams) -> tuple[Operand, ...]:
    product = collapsed(params)
    return (input_of(1, product.right), scratch_operand(0, product.packed(PANEL_COLUMNS)))


def _pack_constants(params: KernelParams) -> Mapping[str, Constant]:
    return {"RIGHT_ALONG_K": right_along_k(params), "ROWS": PACKED_ROWS}


def _pack_dispatch(params: KernelParams) -> Dispatch:
    *batch, depth, columns = static(collapsed(params).right.sizes)
    return Dispatch((ceil(columns / PANEL_COLUMNS), ceil(depth / PACKED_ROWS), prod(batch)), (1, 1, 1))


PACK = Stage("matmul_pack.cl", "matmul_pack", _pack_dispatch, _pack_operands, _pack_constants, bake=False)


def _scratch(params: KernelParams) -> tuple[int, ...]:
    if not packs_itself(params):
        return ()
    view = collapsed(params).packed(PANEL_COLUMNS)
    return (view.element_type.byte_size(prod(static(view.sizes))),)


# -- one tile per work-item -------------------------------------------------------------------------


def _tile_constants(tile: int, params: KernelParams) -> Mapping[str, Constant]:
    return {**common_constants(params), "TILE_ROWS": tile, "SPLIT": SPLIT.get(tile, 1)}


def _tile_dispatch(tile: int, params: KernelParams) -> Dispatch:
    *batch, rows, columns = static(collapsed(params).output.sizes)
    return Dispatch((ceil(rows / tile), ceil(columns / PANEL_COLUMNS), prod(batch)), (1, 1, 1))


def _tile_stages(tile: int) -> Callable[[KernelParams], tuple[Stage, ...]]:
    stage = Stage("matmul_tile.cl", "matmul_tile", partial(_tile_dispatch, tile), _operands,
                  partial(_tile_constants, tile), bake=False, tail_view=tail_view_of)
    return lambda params: (PACK, stage) if packs_itself(params) else (stage,)


def _tile_of(tile: int) -> KernelSpec:
    """Tiles of that many rows; the highest tiles take every shape, the others those that they fit best."""
    def check_shapes(params: KernelParams) -> str | None:
        rows = rows_of(params)
        fits = isinstance(rows, int) and rows > 0 and _best_tile(rows, params) == tile
        return None if fits else f"{rows} rows need other tiles"

    def supports(params: KernelParams) -> str | None:
        return tile_refusal(params) or (
            None if _is_useful(tile, params) else "the right side has batches, packing it does not pay")

    return KernelSpec(f"matmul_tile_{tile}", formats=tile_formats, supports=supports,
                      check_shapes=None if tile == max(TILES) else check_shapes,
                      score=lambda params: 20.0 - tile / 10, stages=_tile_stages(tile), scratch=_scratch)


# -- several tiles per work-item, of compressed weights ---------------------------------------------


def tiles_per_item(tiles: int, panels: int, units: int) -> int:
    """As many of all tiles as leave enough work-items for every core, up to MOST_TILES."""
    items = max(ceil(tiles / MOST_TILES), min(tiles, ceil(ITEMS_PER_UNIT * units / panels)), 1)
    return max(ceil(tiles / items), 1)


def _blocks_arguments(tile: int, params: KernelParams) -> dict[str, int]:
    *_, rows, columns = collapsed(params).output.sizes
    if not (isinstance(rows, int) and isinstance(columns, int)):
        return {"tiles": 0}
    panels = max(ceil(columns / PANEL_COLUMNS), 1)
    return {"tiles": computed(tiles_per_item, ceil(rows / tile), panels, params.capabilities.compute_units)}


def _blocks_constants(tile: int, params: KernelParams) -> Mapping[str, Constant]:
    return {**common_constants(params), "TILE_ROWS": tile, "MOST_TILES": MOST_TILES, "BLOCK_DEPTH": BLOCK_DEPTH}


def _blocks_dispatch(tile: int, params: KernelParams) -> Dispatch:
    *batch, rows, columns = static(collapsed(params).output.sizes)
    height = tile * _blocks_arguments(tile, params)["tiles"]
    return Dispatch((ceil(rows / height), ceil(columns / PANEL_COLUMNS), prod(batch)), (1, 1, 1))


def _blocks_of(tile: int) -> KernelSpec:
    def check_shapes(params: KernelParams) -> str | None:
        rows = rows_of(params)
        if not isinstance(rows, int) or rows <= DIRECT_TILES * tile:
            return f"{rows} rows are few tiles"
        return None if _best_tile(rows, params) == tile else f"{rows} rows need other tiles"

    stage = Stage("matmul_blocks.cl", "matmul_blocks", partial(_blocks_dispatch, tile), _operands,
                  partial(_blocks_constants, tile), partial(_blocks_arguments, tile), bake=False,
                  tail_view=tail_view_of)
    return KernelSpec(f"matmul_blocks_{tile}", (stage,), supports=tile_refusal, check_shapes=check_shapes,
                      formats=tile_formats, score=lambda params: 40.0 - tile / 10)


TILE_KERNELS = tuple(_tile_of(tile) for tile in TILES)
BLOCK_KERNELS = tuple(_blocks_of(tile) for tile in BLOCK_TILES)
