"""Tiles of products on NVIDIA's tensor cores (tensor_cores.h, mma_tiles.h): what they ask of devices and operands, and
which one suits a product."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

from clinfer.base.element_type import ElementType
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Constant, Problem, Work
from clinfer.kernels.cost import time_of
from clinfer.runtime.capabilities import Capabilities

CHUNK = 8
"""Elements that are copied to local memory at once, where they start at a multiple of as many."""
_F16 = ElementType.of("f16")


def needs_tensor_cores(device: Capabilities) -> str | None:
    """What keeps a device from tensor cores."""
    return None if device.tensor_cores else "needs NVIDIA's tensor cores"


def refusal(problem: Problem, inputs: Iterable[int], local_bytes: int) -> str | None:
    """What keeps inputs of these numbers from tensor cores, with so much local memory for a group."""
    if local_bytes > problem.capabilities.usable_local_mem:
        return f"needs {local_bytes} bytes of local memory"
    return None if all(problem.inputs[i].element_type == _F16 for i in inputs) else "made for f16"


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
    aligned: bool = True
    """Whether rows of the operands must start at multiples of `CHUNK`; else it is decided at run time how to copy,
    which is slower."""

    def __str__(self) -> str:
        return f"{self.rows}x{self.columns}" if self.aligned else "anywhere"

    @property
    def threads(self) -> int:
        return 32 * self.warps_down * self.warps_across

    @property
    def local_bytes(self) -> int:
        return self.stages * (self.rows + self.columns) * self.depth * 2

    def work(self, rows: int, columns: int, batch: int = 1) -> Work:
        """One group per tile; batch."""
        tiles = ceil(rows / self.rows) * ceil(columns / self.columns)
        return Work((tiles * self.threads, batch), (self.threads, 1))

    def time(self, device: Capabilities, rows: int, columns: int, depth: int, batch: int, nbytes: int) -> float:
        """Nanoseconds of a product. Each compute unit works on one tile at a time, so that the time is that of the
        unit with the most tiles; `nbytes` are moved at least."""
        tiles = ceil(rows / self.rows) * ceil(columns / self.columns) * batch
        flops = 2 * self.rows * self.columns * depth * ceil(tiles / device.compute_units)
        return time_of(device.ceilings, flops=flops, peak=1000.0 * self.speed, nbytes=nbytes)

    def constants(self) -> dict[str, Constant]:
        """What mma_tiles.h must know."""
        return {"TILE_ROWS": self.rows, "TILE_COLUMNS": self.columns, "DEPTH": self.depth, "STAGES": self.stages,
                "WARPS_DOWN": self.warps_down, "WARPS_ACROSS": self.warps_across}


TILES = (Tile(32, 32, 128, 3, 2, 2, 0.97), Tile(64, 64, 64, 3, 2, 2, 1.7), Tile(64, 128, 64, 3, 2, 2, 2.35),
         Tile(128, 128, 32, 3, 2, 2, 2.5), Tile(64, 64, 64, 3, 2, 2, 1.4, aligned=False))


def is_aligned(view: TensorView, within: int) -> bool:
    """Whether rows along the axis `within` of a view lie together and start at multiples of `CHUNK`, whatever its open
    sizes are."""
    starts = [view.offset, *(pitch for axis, (size, pitch) in enumerate(zip(view.sizes, view.pitches, strict=True))
                             if axis != within % view.rank and size != 1)]
    return (view.pitches[within] == 1 or view.sizes[within] == 1) and all(
        number is not None and number % CHUNK == 0 for number in starts)


def misplaced(tile: Tile, operands: Iterable[tuple[TensorView, int]]) -> str | None:
    """What keeps a tile from operands (each with the axis along which its rows lie) where they are; None only where
    nothing can."""
    if not tile.aligned or all(is_aligned(view, within) for view, within in operands):
        return None
    return f"rows that do not start at multiples of {CHUNK} elements"
