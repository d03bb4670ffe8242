"""Tiles of sums of bf16 products on CPUs (bf16_tiles.h): what they ask of devices, and how long they take."""
from __future__ import annotations

from clinfer.base.element_type import ElementType
from clinfer.kernels.contract import Problem
from clinfer.kernels.cost import time_of
from clinfer.kernels.recipe import Recipe
from clinfer.runtime.capabilities import Capabilities

BF16 = ElementType.of("bf16")
RECIPE = Recipe(requires=("bf16_products",))
STEP_DEPTH = 16
"""Values of a row that are multiplied in a step."""
COLUMNS = 32
SPEEDS = {32: 3.0, 16: 2.6, 14: 1.0, 13: 1.0, 10: 0.97, 8: 0.95, 7: 0.93, 4: 0.8, 1: 0.3}
"""Rows of a tile with the speed of such tiles relative to the best of vectors, without waste."""
IN_REGISTERS = (16, 32)
"""Rows of tiles that lie in tile registers."""
_SHARE_OF_PEAK = 0.85
"""What the best tile reaches."""
_START_AND_END = 2.5
"""Steps in the time of which a tile saves and restores registers, and stores its sums."""


def rows_refusal(device: Capabilities, rows: int) -> str | None:
    """None, or why a device has no tiles of so many rows."""
    return "the device has no tile_registers" if rows in IN_REGISTERS and not device.tile_registers else None


def time_of_tiles(problem: Problem, tiles: int, steps: int, rows: int) -> float:
    """Nanoseconds of so many tiles of `rows` rows, each with so many steps."""
    ceilings = problem.capabilities.ceilings
    all_steps = tiles * (steps / SPEEDS[rows] + _START_AND_END)
    return time_of(ceilings, flops=2 * rows * COLUMNS * STEP_DEPTH * all_steps, peak=ceilings.bf16,
                   efficiency=_SHARE_OF_PEAK, nbytes=problem.moved_bytes)
