"""Tiles of products on NVIDIA's tensor cores (tensor_cores.h, mma_tiles.h): what they ask of devices and operands, and
which one suits a product."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

from clinfer.base.element_type import ElementType
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import Constant, Dispatch, KernelParams

CHUNK = 8
"""Elements that are copied to local memory at once, where they start at a multiple of as many."""
_F16 = ElementType.of("f16")


def tensor_core_refusal(params: KernelParams, inputs: Iterable[int], local_bytes: int) -> str | None:
    """What keeps a device, or inputs of these numbers, from tensor cores, with so much local memory for a group."""
    if not params.capabilities.tensor_cores:
        return "needs NVIDIA's tensor cores"
    if local_bytes > params.capabilities.usable_local_mem:
        return f"needs {local_bytes} bytes of local memory"
    return None if all(params.inputs[i].element_type == _F16 for i in inputs) else "made for f16"


@dataclass(frozen=True)
class Tile:
    """A tile of results, the depth of a step and the steps that lie in local memory at once, the warps that share the
    tile, and how fast a compute unit goes through such tiles, in 10^12 operations a second (measured on an H200)."""

    rows: int
    columns: int
    depth: int
    stages: int
    warps_down: int
    warps_across: int
    speed: float

    @property
    def name(self) -> str:
        return f"{self.rows}x{self.columns}"

    @property
    def threads(self) -> int:
        return 32 * self.warps_down * self.warps_across

    @property
    def local_bytes(self) -> int:
        return self.stages * (self.rows + self.columns) * self.depth * 2

    def dispatch(self, rows: int, columns: int, batch: int = 1) -> Dispatch:
        """One group per tile; batch."""
        tiles = ceil(rows / self.rows) * ceil(columns / self.columns)
        return Dispatch((tiles * self.threads, batch), (self.threads, 1))

    def constants(self) -> dict[str, Constant]:
        """What mma_tiles.h must know."""
        return {"TILE_ROWS": self.rows, "TILE_COLUMNS": self.columns, "DEPTH": self.depth, "STAGES": self.stages,
                "WARPS_DOWN": self.warps_down, "WARPS_ACROSS": self.warps_across}


TILES = (Tile(32, 32, 128, 3, 2, 2, 0.97), Tile(64, 64, 64, 3, 2, 2, 1.7), Tile(64, 128, 64, 3, 2, 2, 2.35),
         Tile(128, 128, 32, 3, 2, 2, 2.5))
ANYWHERE = TILES[1]
"""The tile of kernels whose operands may lie anywhere: they decide at run time how to copy, which is slower."""


def is_aligned(view: TensorView, within: int) -> bool:
    """Whether rows along the axis `within` of a static view lie together and start at multiples of `CHUNK`."""
    starts = [view.offset, *(pitch for axis, (size, pitch) in enumerate(zip(view.sizes, view.pitches, strict=True))
                             if axis != within % view.rank and size != 1)]
    return (view.pitches[within] == 1 or view.sizes[within] == 1) and all(
        number is not None and number % CHUNK == 0 for number in starts)


def tile_refusal(tile: Tile, aligned: bool, rows: int, columns: int, batch: int, units: int) -> str | None:
    """Why a product of that size, with operands that are aligned or not, goes to another tile than this."""
    if not aligned:
        return f"rows that do not start at multiples of {CHUNK} elements"
    best = best_tile(rows, columns, batch, units)
    return None if best == tile else f"tiles of {best.name} take less time"


def best_tile(rows: int, columns: int, batch: int, units: int) -> Tile:
    """The tile of the shortest time. Each compute unit works on one tile at a time, so that the time is that of the
    unit with the most tiles."""
    def time(tile: Tile) -> float:
        tiles = ceil(rows / tile.rows) * ceil(columns / tile.columns) * batch
        return ceil(tiles / units) * tile.rows * tile.columns / tile.speed
    return min(TILES, key=time)
