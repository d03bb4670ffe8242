"""Tiles of sums of bf16 products on CPUs (bf16_tiles.h): what they ask of devices, and how long they take."""
from __future__ import annotations

from math import ceil

from clinfer.base.element_type import ElementType
from clinfer.kernels.contract import Problem
from clinfer.kernels.cost import time_of
from clinfer.kernels.recipe import Recipe

BF16 = ElementType.of("bf16")
RECIPE = Recipe(requires=("bf16_products",))
STEP_DEPTH = 16
"""Values of a row that are multiplied in a step."""
COLUMNS = 32
SPEEDS = {14: 1.0, 13: 1.0, 8: 0.95, 4: 0.8, 1: 0.3}
"""Rows of a tile with the speed of such tiles relative to the best, without waste."""
_SHARE_OF_PEAK = 0.85
"""What the best tile reaches."""
_START_AND_END = 12
"""Steps in the time of which a tile saves and restores registers, and stores its sums."""


def time_of_tiles(problem: Problem, rows: int, columns: int, depth: int, tile: int) -> float:
    """Nanoseconds of tiles of so many rows that cover [rows, columns], each element the sum of `depth` products."""
    tiles = ceil(rows / tile) * ceil(columns / COLUMNS)
    steps = ceil(depth / STEP_DEPTH) / SPEEDS[tile] + _START_AND_END
    ceilings = problem.capabilities.ceilings
    return time_of(ceilings, flops=2 * tiles * tile * COLUMNS * STEP_DEPTH * steps, peak=ceilings.bf16,
                   efficiency=_SHARE_OF_PEAK, nbytes=problem.moved_bytes)
