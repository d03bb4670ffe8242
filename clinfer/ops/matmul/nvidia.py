"""Products of f16 on NVIDIA's tensor cores."""
from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import prod

from clinfer.kernels.spec import Constant, KernelParams, KernelSpec, Stage
from clinfer.ops.matmul.operands import collapsed, common_constants, in_place_operands, right_along_k
from clinfer.ops.matmul.views import tail_view_of
from clinfer.ops.shared.tensor_cores import (
    ANYWHERE,
    TILES,
    Tile,
    is_aligned,
    tensor_core_refusal,
    tile_refusal,
)
from clinfer.ops.shared.views import static


def _size(params: KernelParams) -> tuple[int, int, int]:
    """Rows, columns and batch of the product."""
    *batch, rows, columns = static(collapsed(params).output.sizes)
    return rows, columns, prod(batch)


def _refusal(tile: Tile, params: KernelParams) -> str | None:
    if params.inputs[0].rank > 1 and params.primitive.transpose_a:
        return "a left side along its rows"
    return tensor_core_refusal(params, (0, 1), tile.local_bytes)


def _is_aligned(params: KernelParams) -> bool:
    product = collapsed(params)
    return is_aligned(product.left, -1) and is_aligned(product.right, -2 if right_along_k(params) else -1)


def _constants(tile: Tile, aligned: bool, params: KernelParams) -> Mapping[str, Constant]:
    return {**common_constants(params), **tile.constants(), "RIGHT_ALONG_K": right_along_k(params),
            "ALIGNED": aligned}


def _stage(tile: Tile, aligned: bool) -> Stage:
    return Stage("matmul_mma.cl", "matmul_mma", lambda params: tile.dispatch(*_size(params)), in_place_operands,
                 partial(_constants, tile, aligned), bake=False, tail_view=tail_view_of)


def _aligned_of(tile: Tile) -> KernelSpec:
    def check_shapes(params: KernelParams) -> str | None:
        return tile_refusal(tile, _is_aligned(params), *_size(params), params.capabilities.compute_units)

    return KernelSpec(f"matmul_mma_{tile.name}", (_stage(tile, True),), supports=partial(_refusal, tile),
                      check_shapes=check_shapes, score=lambda params: 20.0)


MMA_KERNELS = (*map(_aligned_of, TILES), KernelSpec(
    "matmul_mma_anywhere", (_stage(ANYWHERE, False),), supports=partial(_refusal, ANYWHERE),
    score=lambda params: 19.5))
