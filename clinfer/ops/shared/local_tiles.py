"""Tiles of products that go through local memory on GPUs: which size suits which product."""
from __future__ import annotations

from math import ceil

from clinfer.base.element_type import ElementType
from clinfer.kernels.contract import Work
from clinfer.kernels.cost import time_of
from clinfer.runtime.capabilities import Capabilities

SIDE = 16
"""Work-items along either axis of a group."""
DEPTH = 16
"""Steps of the inner axis that a tile holds in local memory."""
SPEEDS = {64: 1.0, 32: 0.6}
"""Tile sizes (rows and columns alike) with their speed on products that fill the device."""
_ON_GPU, _ON_CPU = 0.3, 0.005
"""The share of the peak of f32 that the best tile reaches; work-items that wait for each other are slow on CPUs."""


def tile_refusal(tile: int, element_type: ElementType, device: Capabilities) -> str | None:
    """What keeps a device from tiles of that size; the kernels hold two of them, `DEPTH` deep."""
    nbytes = 2 * DEPTH * (tile + 1) * (8 if element_type.cl_compute in ("double", "long", "ulong") else 4)
    if nbytes > device.local_mem_size:
        return f"needs {nbytes} bytes of local memory"
    return f"needs groups of {SIDE * SIDE}" if device.max_work_group_size < SIDE * SIDE else None


def tile_work(tile: int, rows: int, columns: int, batch: int) -> Work:
    """One group per tile: columns, rows, batch."""
    return Work((ceil(columns / tile) * SIDE, ceil(rows / tile) * SIDE, batch), (SIDE, SIDE, 1))


def tile_time(tile: int, device: Capabilities, rows: int, columns: int, depth: int, batch: int, nbytes: int,
              slowness: float = 1.0) -> float:
    """Nanoseconds of a static product: that of the compute unit with the most tiles, which take `slowness` times as
    long as those of a matrix product; `nbytes` are moved at least."""
    groups = ceil(rows / tile) * ceil(columns / tile) * batch
    flops = 2 * tile * tile * depth * ceil(groups / device.compute_units) * device.compute_units
    efficiency = SPEEDS[tile] / slowness * (_ON_CPU if device.device_type == "CPU" else _ON_GPU)
    return time_of(device.ceilings, flops=flops, efficiency=efficiency, nbytes=nbytes)
