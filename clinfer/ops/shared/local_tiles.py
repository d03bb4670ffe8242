"""Tiles of products that go through local memory on GPUs: which size suits which product."""
from __future__ import annotations

from math import ceil

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Size
from clinfer.kernels.spec import Dispatch
from clinfer.runtime.capabilities import Capabilities

SIDE = 16
"""Work-items along either axis of a group."""
DEPTH = 16
"""Steps of the inner axis that a tile holds in local memory."""
SPEEDS = {64: 1.0, 32: 0.6}
"""Tile sizes (rows and columns alike) with their speed on products that fill the device."""
USUAL_TILE = 64
GROUPS_PER_UNIT = 3
"""Groups at once that keep a compute unit busy."""


def tile_refusal(tile: int, element_type: ElementType, device: Capabilities) -> str | None:
    """What keeps a device from tiles of that size; the kernels hold two of them, `DEPTH` deep."""
    nbytes = 2 * DEPTH * (tile + 1) * (8 if element_type.cl_compute in ("double", "long", "ulong") else 4)
    if nbytes > device.local_mem_size:
        return f"needs {nbytes} bytes of local memory"
    return f"needs groups of {SIDE * SIDE}" if device.max_work_group_size < SIDE * SIDE else None


def tile_dispatch(tile: int, rows: int, columns: int, batch: int) -> Dispatch:
    """One group per tile: columns, rows, batch."""
    return Dispatch((ceil(columns / tile) * SIDE, ceil(rows / tile) * SIDE, batch), (SIDE, SIDE, 1))


def tile_efficiency(tile: int, rows: Size, columns: Size, batch: Size, compute_units: int) -> float:
    """Between 0 and 1: the speed of a tile, less what it wastes on the borders of the product and on compute
    units that get too few tiles. Where a size is dynamic, `USUAL_TILE` is best."""
    if not (isinstance(rows, int) and isinstance(columns, int) and isinstance(batch, int)):
        return 1.0 if tile == USUAL_TILE else 0.5
    groups = ceil(rows / tile) * ceil(columns / tile) * batch
    if not groups:
        return SPEEDS[tile]
    useful = rows * columns * batch / (groups * tile * tile)
    at_once = compute_units * GROUPS_PER_UNIT
    busy = groups / (ceil(groups / at_once) * at_once)
    return SPEEDS[tile] * useful * busy
