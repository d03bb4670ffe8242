"""Runs of tiles on CPUs: how many a work-item computes one behind another (tile_runs.h)."""
from __future__ import annotations

from math import ceil, sqrt

from clinfer.kernels.contract import Problem, Work
from clinfer.symbolic.symbols import computed, pure

_MOST_TILES = 32
_START_FLOPS = 25e3
"""Operations of f32 in the time in which a unit begins a work-group."""


def tiles_of_run(problem: Problem, tiles: int, flops: float, most: float = _MOST_TILES) -> int:
    """Of so many tiles of a launch, each of which takes as long as so many operations of f32: `most` at most. Numbers
    may be symbols. 1 while shapes are unknown."""
    if not problem.is_static:
        return 1
    return computed(_length, tiles, flops, problem.capabilities.compute_units, most)


def work_of_runs(tiles: int, others: int, run: int) -> Work:
    """Of `others` times so many tiles: dimension 0 counts runs of tiles, 1 the others."""
    return Work((ceil(tiles / run), others), (1, 1))


@pure
def _length(tiles: int, flops: float, units: int, most: float) -> int:
    # Of n runs the units begin n / units each, and at the end they wait for one, 1 / n of the launch: as little as can
    # be in all.
    runs = sqrt(tiles * flops * units / _START_FLOPS)
    return max(1, int(min(_MOST_TILES, most, tiles / max(runs, 1))))
