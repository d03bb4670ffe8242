"""Runs of tiles on CPUs: how many a work-item computes one behind another (tile_runs.h)."""
from __future__ import annotations

from math import ceil

from clinfer.kernels.contract import Problem, Work
from clinfer.symbolic.symbols import computed, pure

_MOST_TILES = 32
_RUN_FLOPS = 1e6
"""Operations of a run, beside which it takes no time to begin a work-group."""
_RUNS_PER_UNIT = 16
"""So many at least, for units to end at the same time."""


def tiles_of_run(problem: Problem, tiles: int, flops: float) -> int:
    """Of so many tiles of a launch with so many operations each; tiles may be a symbol. 1 while shapes are unknown."""
    if not problem.is_static:
        return 1
    most = min(_MOST_TILES, ceil(_RUN_FLOPS / max(flops, 1)))
    return computed(_length, tiles, most, problem.capabilities.compute_units)


def work_of_runs(tiles: int, others: int, run: int) -> Work:
    """Of `others` times so many tiles: dimension 0 counts runs of tiles, 1 the others."""
    return Work((ceil(tiles / run), others), (1, 1))


@pure
def _length(tiles: int, most: int, units: int) -> int:
    return max(1, min(most, tiles // (units * _RUNS_PER_UNIT)))
