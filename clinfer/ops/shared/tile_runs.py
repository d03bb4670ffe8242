"""Runs of tiles on CPUs: how many a work-item computes one behind another (tile_runs.h)."""
from __future__ import annotations

from math import ceil, floor

from clinfer.kernels.contract import Problem, Work
from clinfer.symbolic.symbols import computed, larger, pure, smaller

_MOST_TILES = 32
_STEPS = 8
"""By which a root of `_MOST_TILES` at most is found."""
_ITEMS_PER_UNIT = 4
"""Work-items that keep a core busy to the end."""
_START_FLOPS = 25_000
"""Operations of f32 in the time in which a unit begins a work-group."""


def tiles_of_run(problem: Problem, tiles: int, flops: float, most: float = _MOST_TILES) -> int:
    """Of so many tiles of a launch, each of which takes as long as so many operations of f32: `most` at most. Numbers
    may be symbols. 1 while shapes are unknown."""
    if not problem.is_static:
        return 1
    return computed(_length, tiles, floor(flops), problem.capabilities.compute_units, floor(most))


def work_of_runs(tiles: int, others: int, run: int) -> Work:
    """Of `others` times so many tiles: dimension 0 counts runs of tiles, 1 the others."""
    return Work((ceil(tiles / run), others), (1, 1))


@pure
def shared_panels(tiles: int, panels: int, units: int, most: int) -> int:
    """Of so many panels of columns, each as wide as one of so many tiles: as many for each work-item as leave enough of
    them for every core, up to `most`; at least 1."""
    return larger(smaller(ceil(panels * tiles / (_ITEMS_PER_UNIT * units)), most), 1)


@pure
def _length(tiles: int, flops: int, units: int, most: int) -> int:
    # Of n runs the units begin n / units each, and at the end they wait for one, 1 / n of the launch: as little as can
    # be in all where a run has the root of so many tiles.
    square = smaller(larger(tiles * _START_FLOPS // larger(flops * units, 1), 1), _MOST_TILES ** 2)
    length = _MOST_TILES
    # By Newton's method, because traces know no roots.
    for _ in range(_STEPS):
        length = smaller(length, (length + square // length) // 2)
    return larger(smaller(length, smaller(most, tiles)), 1)
