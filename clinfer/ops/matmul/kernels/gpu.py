"""Matrix products in tiles of local memory, and of few rows."""
from __future__ import annotations

from math import ceil

from clinfer.kernels.contract import Kernel, Lowered, Stage, Work
from clinfer.kernels.cost import time_of
from clinfer.ops.matmul.problem import MatMulProblem
from clinfer.ops.shared import local_tiles

_ROWS = (1, 4)
_GROUP = 256
_LANES, _LANES_ACROSS = 16, 8
"""Work-items of a group that share the inner axis, where its elements lie together and where they do not."""
_CHUNK = 16
_STEP = 60.0
"""Nanoseconds of a step along the inner axis, which waits for what it loads."""
_GROUPS_AT_ONCE = 8
"""On a compute unit, which has 2048 work-items in flight."""
_BANDWIDTH = 0.6
_SHARE_OF_PEAK, _ON_CPU = 0.08, 0.002


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


class RowsKernel(Kernel[MatMulProblem, int]):
    """So many rows as the configuration says at a time; each element of the right side is read once for them. Without
    local memory a work-item goes through the whole inner axis. Runs on CPUs, slowly."""

    name = "matmul_rows"
    has_epilogue = True
    supports_large = True

    def configs(self, problem: MatMulProblem) -> tuple[int, ...]:
        return _ROWS

    def supports(self, problem: MatMulProblem, rows: int) -> str | None:
        if problem.capabilities.max_work_group_size < _GROUP:
            return f"needs groups of {_GROUP}"
        group = problem.constants["GROUP_SIZE"]
        if isinstance(group, int) and group % _CHUNK and problem.right_along_k:
            return f"groups of weights that are no multiples of {_CHUNK}"
        return problem.types_refusal()

    def cost(self, problem: MatMulProblem, rows: int) -> float:
        tiles, device = ceil(problem.rows / rows), problem.capabilities
        flops = 2 * problem.batch * tiles * rows * problem.columns * problem.depth
        nbytes = problem.moved_bytes + problem.inputs[1].byte_size * (tiles - 1)
        if problem.runs_on_cpu:
            return time_of(device.ceilings, flops=flops, nbytes=nbytes, efficiency=_ON_CPU)
        steps = ceil(problem.depth / (_lanes(problem) * (_CHUNK if problem.right_along_k else 1)))
        groups = ceil(problem.columns / (_GROUP // _lanes(problem))) * tiles * problem.batch
        waiting = _STEP * steps * ceil(groups / (_GROUPS_AT_ONCE * device.compute_units))
        return waiting + time_of(device.ceilings, flops=flops, nbytes=nbytes, bandwidth=_BANDWIDTH,
                                 efficiency=_SHARE_OF_PEAK)

    def lower(self, problem: MatMulProblem, rows: int) -> Lowered:
        lanes, along_k = _lanes(problem), problem.right_along_k
        columns, tiles = _GROUP // lanes, ceil(problem.rows / rows) * problem.batch
        all_columns = ceil(problem.columns / columns) * columns
        work = (Work((lanes, all_columns, tiles), (lanes, columns, 1)) if along_k else
                Work((all_columns, lanes, tiles), (columns, lanes, 1)))
        constants = {**problem.constants, "LANES": lanes, "COLUMNS": columns, "ROWS": rows, "RIGHT_ALONG_K": along_k}
        return Lowered((Stage("matmul_rows.cl", problem.in_place_operands(), work, constants,
                              epilogue_views=problem.epilogue_views()),))


def _lanes(problem: MatMulProblem) -> int:
    if not problem.capabilities.local_mem_size:
        return 1
    return _LANES if problem.right_along_k else _LANES_ACROSS
