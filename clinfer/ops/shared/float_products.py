"""Tiles of products of bf16 or f32 on CPUs (float_products.h): what they ask of devices, and how long they take."""
from __future__ import annotations

from clinfer.base.element_type import ElementType
from clinfer.kernels.contract import Problem
from clinfer.kernels.cost import time_of
from clinfer.kernels.recipe import Recipe
from clinfer.runtime.capabilities import Capabilities

BF16, F32 = ElementType.of("bf16"), ElementType.of("f32")
RECIPE = Recipe(requires=("bf16_products",))
STEP_DEPTH = 16
"""Values of a row that are multiplied in a step."""
COLUMNS = 32
SPEEDS = {14: 0.85, 13: 0.85, 10: 0.83, 8: 0.81, 7: 0.79, 4: 0.68, 1: 0.26}
"""Rows of a tile in vectors, with the share of the peak that such tiles reach, without waste."""
SPEEDS_OF_FLOATS = {14: 0.95, 13: 0.91, 10: 0.8, 8: 0.76}
"""The same of floats."""
IN_REGISTERS = {32: 0.26, 16: 0.22}
"""The same of tiles that lie in tile registers, which wait for what they multiply."""
_START_AND_END, _START_AND_END_OF_FLOATS, _START_AND_END_IN_REGISTERS = 2.0, 3.0, 7.5
"""Steps in the time of which a tile saves and restores registers, and stores its sums."""


def rows_refusal(device: Capabilities, rows: int) -> str | None:
    """None, or why a device has no tiles of so many rows."""
    return "the device has no tile_registers" if rows in IN_REGISTERS and not device.tile_registers else None


def time_of_tiles(problem: Problem, tiles: int, steps: int, rows: int) -> float:
    """Nanoseconds of so many tiles of `rows` rows, each with so many steps; of floats where the data is f32."""
    ceilings = problem.capabilities.ceilings
    if problem.inputs[0].element_type == F32:
        flops = 2 * rows * COLUMNS * STEP_DEPTH * tiles * (steps + _START_AND_END_OF_FLOATS)
        return time_of(ceilings, flops=flops, efficiency=SPEEDS_OF_FLOATS[rows], nbytes=problem.moved_bytes)
    if rows in IN_REGISTERS:
        peak, share, more = ceilings.tiles, IN_REGISTERS[rows], _START_AND_END_IN_REGISTERS
    else:
        peak, share, more = ceilings.bf16, SPEEDS[rows], _START_AND_END
    flops = 2 * rows * COLUMNS * STEP_DEPTH * tiles * (steps + more)
    return time_of(ceilings, flops=flops, peak=peak, efficiency=share, nbytes=problem.moved_bytes)
