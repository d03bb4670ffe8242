"""Runs of tiles on CPUs: how many a work-item computes one behind another (tile_runs.h)."""
from __future__ import annotations

from math import ceil, sqrt

from clinfer.kernels.contract import Problem, Work
from clinfer.symbolic.symbols import computed, pure

_MOST_TILES = 32
_START_FLOPS = 25e3
"""Operations of f32 in the time in which a unit begins a work-group."""


def tiles_of_run(problem: Problem, tiles: int, flops: float) -> int:
    """Of so many tiles of a launch, which may be a symbol, each of which takes as long as so many operations of f32.
    1 while shapes are unknown."""
    if not problem.is_static:
        return 1
    return computed(_length, tiles, flops, problem.capabilities.compute_units)


def work_of_runs(tiles: int, others: int, run: int) -> Work:
    """Of `others` times so many tiles: dimension 0 counts runs of tiles, 1 the others."""
    return Work((ceil(tiles / run), others), (1, 1))


@pure
def _length(tiles: int, flops: float, units: int) -> int:
    # Of n runs the units begin n / units each, and at the end they wait for one, 1 / n of the launch: as little as can
    # be in all.
    runs = sqrt(tiles * flops * units / _START_FLOPS)
    return max(1, min(_MOST_TILES, int(tiles / max(runs, 1))))
