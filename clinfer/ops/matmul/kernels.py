"""Kernels of the matmul room."""
from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import ceil, prod

from clinfer.kernels.spec import (
    Constant,
    Dispatch,
    Formats,
    KernelParams,
    KernelSpec,
    Operand,
    Stage,
    planar_formats,
)
from clinfer.ops.matmul.nvidia import MMA_KERNELS
from clinfer.ops.matmul.operands import (
    all_operands,
    collapsed,
    common_constants,
    in_place_operands,
    input_of,
    right_along_k,
)
from clinfer.ops.matmul.tiles import BLOCK_KERNELS, FEW_ROWS, TILE_KERNELS, packs_itself, tile_formats, tile_refusal
from clinfer.ops.matmul.views import product_of, rows_of, tail_view_of
from clinfer.ops.shared import local_tiles
from clinfer.ops.shared.spatial import count
from clinfer.ops.shared.views import static

VECTOR_COLUMNS = 64
PACKED_BY_FORMAT = 5.0
"""The score of reading a constant right side in place: packed at build time it is read faster on most CPUs."""


# -- reference --------------------------------------------------------------------------------------


def _reference_operands(params: KernelParams) -> tuple[Operand, ...]:
    product = product_of(params)
    return all_operands(params, input_of(0, product.left), input_of(1, product.right_in_batch()), product.output)


def _reference_formats(params: KernelParams) -> Formats:
    return Formats(tuple(x.format for x in params.inputs), planar_formats(params).outputs)


REFERENCE = KernelSpec("matmul_ref", formats=_reference_formats, stages=(
    Stage("matmul_ref.cl", "matmul_ref", lambda params: Dispatch((params.outputs[0].count,)), _reference_operands,
          common_constants, bake=False, tail_view=partial(tail_view_of, collapse=False)),))


# -- few rows, on CPUs ------------------------------------------------------------------------------


def _vector_formats(params: KernelParams) -> Formats:
    packed, planar = tile_formats(params), planar_formats(params)
    return Formats((packed.inputs[0], planar.inputs[1], *packed.inputs[2:]), packed.outputs)


def _vector_shapes(params: KernelParams) -> str | None:
    rows = rows_of(params)
    return None if isinstance(rows, int) and rows <= FEW_ROWS else f"more than {FEW_ROWS} rows"


def _vector_constants(params: KernelParams) -> Mapping[str, Constant]:
    return {**common_constants(params), "RIGHT_ALONG_K": right_along_k(params)}


def _vector_dispatch(params: KernelParams) -> Dispatch:
    *batch, rows, columns = static(collapsed(params).output.sizes)
    return Dispatch((ceil(columns / VECTOR_COLUMNS), rows, prod(batch)), (1, 1, 1))


VECTOR = KernelSpec(
    "matmul_vector", formats=_vector_formats, supports=tile_refusal, check_shapes=_vector_shapes,
    score=lambda params: 30.0 if packs_itself(params) else PACKED_BY_FORMAT,
    stages=(Stage("matmul_vector.cl", "matmul_vector", _vector_dispatch, in_place_operands, _vector_constants,
                  bake=False, tail_view=tail_view_of),))


# -- local memory, for GPUs -------------------------------------------------------------------------


def _local_constants(tile: int, params: KernelParams) -> Mapping[str, Constant]:
    return {**common_constants(params), "TILE": tile,
            "LEFT_ALONG_K": params.inputs[0].rank == 1 or not params.primitive.transpose_a,
            "RIGHT_ALONG_K": right_along_k(params)}


def _local_dispatch(tile: int, params: KernelParams) -> Dispatch:
    *batch, rows, columns = static(collapsed(params).output.sizes)
    return local_tiles.tile_dispatch(tile, rows, columns, prod(batch))


def _local_score(tile: int, params: KernelParams) -> float:
    """Below the reference on CPUs."""
    *batch, rows, columns = collapsed(params).output.sizes
    efficiency = local_tiles.tile_efficiency(tile, rows, columns, count(tuple(batch)),
                                             params.capabilities.compute_units)
    return efficiency + (-2.0 if params.capabilities.device_type == "CPU" else 10.0)


def _local_of(tile: int) -> KernelSpec:
    stage = Stage("matmul_local.cl", "matmul_local", partial(_local_dispatch, tile), in_place_operands,
                  partial(_local_constants, tile), bake=False, tail_view=tail_view_of)
    return KernelSpec(f"matmul_local_{tile}", (stage,), score=partial(_local_score, tile),
                      supports=lambda params: local_tiles.tile_refusal(
                          tile, params.inputs[0].element_type, params.capabilities))


_LOCALS = tuple(_local_of(tile) for tile in local_tiles.SPEEDS)

KERNELS = (VECTOR, *MMA_KERNELS, *TILE_KERNELS, *_LOCALS, REFERENCE)
COMPRESSED_KERNELS = (*BLOCK_KERNELS, *TILE_KERNELS, *_LOCALS, REFERENCE)
