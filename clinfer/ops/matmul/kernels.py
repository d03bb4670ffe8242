"""Kernels of the matmul room."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import ceil, prod

from clinfer.base.format import Format
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import (
    BufferRef,
    Constant,
    Dispatch,
    Formats,
    KernelParams,
    KernelSpec,
    Operand,
    Stage,
    output_operand,
    planar_formats,
    scratch_operand,
)
from clinfer.ops.matmul.views import Product, product_of, rows_of, tail_view_of
from clinfer.ops.matmul.weights import formats_of_others, types_refusal, weights_constants, weights_operands
from clinfer.ops.shared.bias import bias_constants, bias_operand
from clinfer.ops.shared.local_tiles import SPEEDS, tile_dispatch, tile_efficiency, tile_refusal
from clinfer.ops.shared.spatial import count
from clinfer.ops.shared.views import static

PANEL_COLUMNS = 32
PACKED_ROWS = 64
FEW_ROWS = 4
VECTOR_COLUMNS = 64
TILES = {14: 1.0, 8: 0.97, 4: 0.8, 1: 0.25}
"""Rows of a tile with the speed of such tiles relative to the best, without waste."""
SPLIT = {1: 4}
PACKED_BY_FORMAT = 5.0
"""The score of reading a constant right side in place: packed at build time it is read faster on most CPUs."""


def _input(index: int, view: TensorView, buffer: BufferRef | None = None) -> Operand:
    return Operand(f"INPUT{index}", buffer or BufferRef("input", index), view)


def _all_operands(params: KernelParams, left: Operand, right: Operand, output: TensorView) -> tuple[Operand, ...]:
    return (left, right, *weights_operands(params), *bias_operand(params), output_operand(params, 0, output))


def _constants_of(params: KernelParams) -> dict[str, int]:
    return {**weights_constants(params), **bias_constants(params)}


def _right_along_k(params: KernelParams) -> bool:
    """Whether the elements of one column of the right side lie together."""
    return params.inputs[1].rank == 1 or params.primitive.transpose_b


# -- reference --------------------------------------------------------------------------------------


def _reference_operands(params: KernelParams) -> tuple[Operand, ...]:
    product = product_of(params)
    return _all_operands(params, _input(0, product.left), _input(1, product.right_in_batch()), product.output)


def _reference_formats(params: KernelParams) -> Formats:
    return Formats(tuple(x.format for x in params.inputs), planar_formats(params).outputs)


REFERENCE = KernelSpec("matmul_ref", formats=_reference_formats, stages=(
    Stage("matmul_ref.cl", "matmul_ref", lambda params: Dispatch((params.outputs[0].count,)), _reference_operands,
          _constants_of, bake=False, tail_view=partial(tail_view_of, collapse=False)),))


# -- tiles for CPUs ---------------------------------------------------------------------------------


def _packs_itself(params: KernelParams) -> bool:
    """Whether the right side has batches: it is then packed by a stage, else by its format."""
    return params.inputs[1].rank != 2


def _tile_formats(params: KernelParams) -> Formats:
    planar = planar_formats(params)
    right = planar.inputs[1]
    if not _packs_itself(params):
        right = Format.of("os_i_osv32" if params.primitive.transpose_b else "ks_n_nsv32")
    return Formats((planar.inputs[0], right, *formats_of_others(params)), planar.outputs)


def _tile_refusal(params: KernelParams) -> str | None:
    if params.capabilities.device_type != "CPU":
        return "made for CPUs"
    return types_refusal(params)


def _product(params: KernelParams) -> Product:
    return product_of(params, collapse=True)


def _tile_is_useful(tile: int, params: KernelParams) -> bool:
    """Whether tiles of that many rows have a use: packing for a few rows does not pay."""
    return tile > FEW_ROWS or not _packs_itself(params)


def _best_tile(rows: int, params: KernelParams) -> int:
    """The rows of the tile that wastes least of its speed on rows that do not exist."""
    useful = [tile for tile in TILES if _tile_is_useful(tile, params)]
    return max(useful, key=lambda tile: TILES[tile] * rows / (ceil(rows / tile) * tile))


def _tile_operands(params: KernelParams) -> tuple[Operand, ...]:
    product = _product(params)
    buffer = BufferRef("scratch", 0) if _packs_itself(params) else BufferRef("input", 1)
    right = _input(1, product.packed_in_batch(PANEL_COLUMNS), buffer)
    return _all_operands(params, _input(0, product.left), right, product.output)


def _tile_constants(tile: int, params: KernelParams) -> Mapping[str, Constant]:
    return {**_constants_of(params), "TILE_ROWS": tile, "SPLIT": SPLIT.get(tile, 1)}


def _tile_dispatch(tile: int, params: KernelParams) -> Dispatch:
    *batch, rows, columns = static(_product(params).output.sizes)
    return Dispatch((ceil(rows / tile), ceil(columns / PANEL_COLUMNS), prod(batch)), (1, 1, 1))


def _pack_operands(params: KernelParams) -> tuple[Operand, ...]:
    product = _product(params)
    return (_input(1, product.right), scratch_operand(0, product.packed(PANEL_COLUMNS)))


def _pack_constants(params: KernelParams) -> Mapping[str, Constant]:
    return {"RIGHT_ALONG_K": _right_along_k(params), "ROWS": PACKED_ROWS}


def _pack_dispatch(params: KernelParams) -> Dispatch:
    *batch, depth, columns = static(_product(params).right.sizes)
    return Dispatch((ceil(columns / PANEL_COLUMNS), ceil(depth / PACKED_ROWS), prod(batch)), (1, 1, 1))


PACK = Stage("matmul_pack.cl", "matmul_pack", _pack_dispatch, _pack_operands, _pack_constants, bake=False)


def _tile_stages(tile: int) -> Callable[[KernelParams], tuple[Stage, ...]]:
    stage = Stage("matmul_tile.cl", "matmul_tile", partial(_tile_dispatch, tile), _tile_operands,
                  partial(_tile_constants, tile), bake=False, tail_view=tail_view_of)
    return lambda params: (PACK, stage) if _packs_itself(params) else (stage,)


def _tile_scratch(params: KernelParams) -> tuple[int, ...]:
    if not _packs_itself(params):
        return ()
    view = _product(params).packed(PANEL_COLUMNS)
    return (view.element_type.byte_size(prod(static(view.sizes))),)


def _tile_of(tile: int) -> KernelSpec:
    """Tiles of that many rows; the highest tiles take every shape, the others those that they fit best."""
    def check_shapes(params: KernelParams) -> str | None:
        rows = rows_of(params)
        fits = isinstance(rows, int) and rows > 0 and _best_tile(rows, params) == tile
        return None if fits else f"{rows} rows need other tiles"

    def supports(params: KernelParams) -> str | None:
        return _tile_refusal(params) or (
            None if _tile_is_useful(tile, params) else "the right side has batches, packing it does not pay")

    return KernelSpec(f"matmul_tile_{tile}", formats=_tile_formats, supports=supports,
                      check_shapes=None if tile == max(TILES) else check_shapes,
                      score=lambda params: 20.0 - tile / 10, stages=_tile_stages(tile), scratch=_tile_scratch)


def _in_place_operands(params: KernelParams) -> tuple[Operand, ...]:
    """Both sides as they lie in memory."""
    product = _product(params)
    return _all_operands(params, _input(0, product.left), _input(1, product.right_in_batch()), product.output)


# -- few rows, on CPUs ------------------------------------------------------------------------------


def _vector_formats(params: KernelParams) -> Formats:
    packed, planar = _tile_formats(params), planar_formats(params)
    return Formats((packed.inputs[0], planar.inputs[1], *packed.inputs[2:]), packed.outputs)


def _vector_shapes(params: KernelParams) -> str | None:
    rows = rows_of(params)
    return None if isinstance(rows, int) and rows <= FEW_ROWS else f"more than {FEW_ROWS} rows"


def _vector_constants(params: KernelParams) -> Mapping[str, Constant]:
    return {**_constants_of(params), "RIGHT_ALONG_K": _right_along_k(params)}


def _vector_dispatch(params: KernelParams) -> Dispatch:
    *batch, rows, columns = static(_product(params).output.sizes)
    return Dispatch((ceil(columns / VECTOR_COLUMNS), rows, prod(batch)), (1, 1, 1))


VECTOR = KernelSpec(
    "matmul_vector", formats=_vector_formats, supports=_tile_refusal, check_shapes=_vector_shapes,
    score=lambda params: 30.0 if _packs_itself(params) else PACKED_BY_FORMAT,
    stages=(Stage("matmul_vector.cl", "matmul_vector", _vector_dispatch, _in_place_operands, _vector_constants,
                  bake=False, tail_view=tail_view_of),))


# -- local memory, for GPUs -------------------------------------------------------------------------

def _local_constants(tile: int, params: KernelParams) -> Mapping[str, Constant]:
    return {**_constants_of(params), "TILE": tile,
            "LEFT_ALONG_K": params.inputs[0].rank == 1 or not params.primitive.transpose_a,
            "RIGHT_ALONG_K": _right_along_k(params)}


def _local_dispatch(tile: int, params: KernelParams) -> Dispatch:
    *batch, rows, columns = static(_product(params).output.sizes)
    return tile_dispatch(tile, rows, columns, prod(batch))


def _local_score(tile: int, params: KernelParams) -> float:
    """Below the reference on CPUs."""
    *batch, rows, columns = _product(params).output.sizes
    efficiency = tile_efficiency(tile, rows, columns, count(tuple(batch)), params.capabilities.compute_units)
    return efficiency + (-2.0 if params.capabilities.device_type == "CPU" else 10.0)


def _local_of(tile: int) -> KernelSpec:
    stage = Stage("matmul_local.cl", "matmul_local", partial(_local_dispatch, tile), _in_place_operands,
                  partial(_local_constants, tile), bake=False, tail_view=tail_view_of)
    return KernelSpec(f"matmul_local_{tile}", (stage,), score=partial(_local_score, tile),
                      supports=lambda params: tile_refusal(tile, params.inputs[0].element_type, params.capabilities))


_TILES = tuple(_tile_of(tile) for tile in TILES)
_LOCALS = tuple(_local_of(tile) for tile in SPEEDS)

KERNELS = (VECTOR, *_TILES, *_LOCALS, REFERENCE)
COMPRESSED_KERNELS = (*_TILES, *_LOCALS, REFERENCE)
