"""Tiles of products of bf16 or f32 on CPUs (float_products.h): what they ask of devices, and how long they take."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from clinfer.base.element_type import ElementType
from clinfer.kernels.contract import Problem
from clinfer.kernels.cost import time_of
from clinfer.kernels.recipe import Recipe
from clinfer.ops.shared.targets import has_wide_vectors
from clinfer.runtime.capabilities import Capabilities
from clinfer.symbolic.symbols import computed, larger, one_if_positive, pure, smaller

BF16, F32 = ElementType.of("bf16"), ElementType.of("f32")
STEP_DEPTH = 16
"""Values of a row that are multiplied in a step."""
IN_REGISTERS = {32: 0.26, 16: 0.22}
"""Rows of a tile of pairs in tile registers, which wait for what they multiply, with the share of the peak."""
_START_AND_END_IN_REGISTERS = 7.5
"""Steps in the time of which such a tile begins and ends."""


@dataclass(frozen=True)
class Tiles:
    """Tiles in vectors: the floats of a vector register, the rows of a tile with the share of the peak that such tiles
    reach without waste, the steps in the time of which a tile begins and ends, and what the assembly asks of devices.
    """

    vector_floats: int
    speeds: Mapping[int, float]
    start_and_end: float
    recipe: Recipe

    @property
    def columns(self) -> int:
        """Of a tile: two vectors."""
        return 2 * self.vector_floats


_SMALL = {4: 0.65, 8: 0.76}
"""Rows of small tiles with wide vectors, beside those of more rows, with the share of the peak."""
_MOST_SMALL, _MOST_IN_VECTORS = 8, 14
_WITH_PAIRS = Recipe(requires=("bf16_products",))
PAIR_TILES = Tiles(16, {14: 0.85, 13: 0.85, 10: 0.83, 8: 0.81, 7: 0.79, 4: 0.68, 1: 0.26}, 2.0, _WITH_PAIRS)
_WIDE = Tiles(16, {14: 0.95, 13: 0.95, 10: 0.8, 8: 0.76}, 3.0, _WITH_PAIRS)
_NARROW = Tiles(8, {6: 0.9, 5: 0.86, 4: 0.78}, 1.5, Recipe(requires=("float_products",)))


def float_tiles(device: Capabilities) -> Tiles:
    """Those of floats that fill the device's vector registers."""
    return _WIDE if device.bf16_products or has_wide_vectors(device) else _NARROW


def narrow_only(device: Capabilities) -> str | None:
    """What kernels say that are for tiles of narrow vectors, whose rows may lie anywhere."""
    return None if float_tiles(device) is _NARROW else "made for narrow vectors"


def rows_refusal(device: Capabilities, rows: int) -> str | None:
    """None, or why a device has no tiles of so many rows."""
    return "the device has no tile_registers" if rows in IN_REGISTERS and not device.tile_registers else None


def tiles_of_rows(problem: Problem, rows: int, tile: int) -> float:
    """Tiles of so many rows that take as long as those that cover `rows` rows, the last of which may be smaller ones
    (ops/matmul/float_rows.h); of floats where the data is f32. `rows` may be a symbol."""
    is_float = problem.inputs[0].element_type == F32
    if tile in IN_REGISTERS:
        return computed(_tiles_in_registers, rows, tile)
    kind = float_tiles(problem.capabilities) if is_float else PAIR_TILES
    if kind is _NARROW or not _MOST_SMALL < tile <= _MOST_IN_VECTORS:
        return ceil(rows / tile)
    return computed(_tiles, rows, tile, kind.speeds[tile])


@pure
def _tiles_in_registers(rows: int, tile: int) -> float:
    # The columns that few rows are multiplied by are read all the same, which takes as long as to multiply 20 rows.
    return rows // tile + one_if_positive(rows % tile) * smaller(larger(rows % tile, 20) / tile, 1.0)


@pure
def _tiles(rows: int, tile: int, speed: float) -> float:
    whole, rest = rows // tile, rows % tile
    # Of a whole tile's time what the last one takes by the smallest tile with room for `rest` rows.
    times = [smaller(size * speed / (tile * share), 1.0) for size, share in _SMALL.items()]
    last = times[0] * one_if_positive(rest)
    for size, time, longer in zip(_SMALL, times, [*times[1:], 1.0], strict=True):
        last += (longer - time) * one_if_positive(rest - size)
    # Few rows alone are no faster by small tiles: they wait for the columns.
    has_whole = one_if_positive(whole)
    return whole + has_whole * last + (1 - has_whole) * one_if_positive(rest)


def time_of_tiles(problem: Problem, tiles: float, steps: float, rows: int) -> float:
    """Nanoseconds of so many tiles of `rows` rows, each with so many steps; of floats where the data is f32."""
    ceilings = problem.capabilities.ceilings
    if problem.inputs[0].element_type == F32:
        kind = float_tiles(problem.capabilities)
        flops = 2 * rows * kind.columns * STEP_DEPTH * tiles * (steps + kind.start_and_end)
        return time_of(ceilings, flops=flops, efficiency=kind.speeds[rows], nbytes=problem.moved_bytes)
    if rows in IN_REGISTERS:
        peak, share, more = ceilings.tiles, IN_REGISTERS[rows], _START_AND_END_IN_REGISTERS
    else:
        peak, share, more = ceilings.bf16, PAIR_TILES.speeds[rows], PAIR_TILES.start_and_end
    flops = 2 * rows * PAIR_TILES.columns * STEP_DEPTH * tiles * (steps + more)
    return time_of(ceilings, flops=flops, peak=peak, efficiency=share, nbytes=problem.moved_bytes)
