"""Tiles of products on NVIDIA's tensor cores (tensor_cores.h, warp_groups.h, mma_tiles.h): what they ask of devices and
operands, and which one suits a product."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, ClassVar

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Dim
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Constant, Operand, Problem, Work, counters_operand, scratch_operand
from clinfer.kernels.cost import longer, time_of
from clinfer.kernels.recipe import USUAL, Recipe
from clinfer.runtime.capabilities import Capabilities
from clinfer.runtime.program import retargeted
from clinfer.symbolic.symbols import computed, larger, pure, smaller

if TYPE_CHECKING:
    from typing_extensions import Self

CHUNK = 8
"""Elements that are copied to local memory at once, where they start at a multiple of as many."""
BOX = 64
"""Neighbouring elements that the tensor memory accelerator copies at once."""
_COPYING_WARPS = 4
_LAST_TILE_NS = 1500.0
_BANDWIDTH = 0.8
"""The share of the memory's bandwidth that copies of tiles reach."""
_MAP_WORDS = 2 * 16
_F16, _F32, _U64 = ElementType.of("f16"), ElementType.of("f32"), ElementType.of("u64")


def needs_tensor_cores(device: Capabilities) -> str | None:
    """What keeps a device from tensor cores."""
    return None if device.tensor_cores else "needs NVIDIA's tensor cores"


def needs_warp_groups(device: Capabilities) -> str | None:
    """What keeps a device from products by groups of four warps."""
    return None if device.warp_group_products else "needs the tensor cores of NVIDIA's architecture 9.0"


def needs_bulk_copies(device: Capabilities) -> str | None:
    """What keeps a device from such products of what its tensor memory accelerator copies."""
    return needs_warp_groups(device) or (None if device.bulk_copies else "needs NVIDIA's tensor memory accelerator")


def for_warp_groups(registers: int) -> Recipe:
    """How kernels with products by groups of four warps are built, whose work-items have so many registers at most."""
    return Recipe(rewrites=retargeted("sm_90", "sm_90a", registers))


def stores_halves(problem: Problem) -> bool:
    """Whether results, and what fused operations read, are halves."""
    return all(x.element_type == _F16 for x in (problem.outputs[0], *problem.fused_inputs))


def refusal(problem: Problem, inputs: Iterable[int], local_bytes: int) -> str | None:
    """What keeps inputs of these numbers from tensor cores, with so much local memory for a group."""
    if local_bytes > problem.capabilities.usable_local_mem:
        return f"needs {local_bytes} bytes of local memory"
    return None if all(problem.inputs[i].element_type == _F16 for i in inputs) else "made for f16"


@dataclass(frozen=True)
class Tile:
    """A tile of results, the depth of a step and the steps that lie in local memory at once, the warps that share the
    tile, and its times (measured on an H200): the 10^12 operations a second at which a compute unit goes through one
    such tile, and through as many as fit side by side, and the nanoseconds of a tile besides, above all to store it."""

    rows: int
    columns: int
    depth: int
    stages: int
    warps_down: int
    warps_across: int
    speed: float
    speed_of_several: float
    overhead: float
    aligned: bool = True
    """Whether rows of the operands must start at multiples of `CHUNK`; else it is decided at run time how to copy,
    which is slower."""

    def __str__(self) -> str:
        return f"{self.rows}x{self.columns}" if self.aligned else "anywhere"

    @property
    def recipe(self) -> Recipe:
        """How the kernels of such tiles are built."""
        return USUAL

    @property
    def threads(self) -> int:
        return 32 * self.warps_down * self.warps_across

    @property
    def local_bytes(self) -> int:
        return self.stages * (self.rows + self.columns) * self.depth * 2

    def tiles(self, rows: int, columns: int, batch: int) -> int:
        """How many there are in a batch of results."""
        return ceil(rows / self.rows) * ceil(columns / self.columns) * batch

    def work(self, device: Capabilities, rows: int, columns: int, depth: int, batch: int = 1) -> Work:
        """One group per tile."""
        return Work((self.tiles(rows, columns, batch) * self.threads,), (self.threads,))

    def arguments(self, device: Capabilities, rows: int, columns: int, depth: int, batch: int = 1) -> dict[str, int]:
        """What the code is told of a product's sizes besides."""
        return {}

    def time(self, device: Capabilities, rows: int, columns: int, depth: int, batch: int, nbytes: int) -> float:
        """Nanoseconds of a product: that of the compute unit with the most tiles; `nbytes` are moved at least."""
        share = ceil(self.tiles(rows, columns, batch) / device.compute_units)
        side_by_side = max(device.usable_local_mem // self.local_bytes, 1)
        tile_times = computed(_tile_times, share, side_by_side, self.speed, self.speed_of_several)
        moving = time_of(device.ceilings, nbytes=nbytes, bandwidth=_BANDWIDTH, launches=0)
        return (2 * self.rows * self.columns * depth * tile_times / 1000.0
                + computed(longer, share * self.overhead, moving) + device.ceilings.launch)

    def constants(self) -> dict[str, Constant]:
        """What mma_tiles.h must know."""
        return {"TILE_ROWS": self.rows, "TILE_COLUMNS": self.columns, "DEPTH": self.depth, "STAGES": self.stages,
                "WARPS_DOWN": self.warps_down, "WARPS_ACROSS": self.warps_across, "ALIGNED": self.aligned,
                "WARP_GROUPS": False, "COPYING_WARPS": 0}


@pure
def _tile_times(tiles: int, side_by_side: int, speed: float, speed_of_several: float) -> float:
    """How long a unit takes for so many tiles of one operation each; the last few may have it for themselves."""
    rest = tiles % side_by_side
    return (tiles - rest) / (speed_of_several if side_by_side > 1 else speed) + (
        max(rest / speed_of_several, 1 / speed) if rest else 0.0)


@pure
def _steps_of_share(tiles: int, steps: int, units: int, least: int) -> int:
    """Of a tile's steps those that one group goes through, so that there is a share for each compute unit."""
    shares = larger(smaller(units // larger(tiles, 1), steps // least), 1)
    return larger(ceil(steps / shares), 1)


@pure
def _addition_ns(shares: int) -> float:
    """To add the sums of so many shares (measured on an H200)."""
    return 700.0 + 400.0 * shares if shares > 1 else 0.0


@dataclass(frozen=True)
class GroupTile(Tile):
    """A tile that groups of four warps compute, one for each 64 rows (warp_groups.h); of its steps the last but one is
    multiplied while the last is waited for. `registers`: the most that a work-item may have."""

    registers: int = 128

    @classmethod
    def of(cls, rows: int, columns: int, stages: int, registers: int, speed: float, speed_of_several: float,
           overhead: float) -> Self:
        """The tile of so many rows and columns (multiples of 64)."""
        return cls(rows, columns, 64, stages, rows // 16, 1, speed, speed_of_several, overhead, registers=registers)

    @property
    def recipe(self) -> Recipe:
        return for_warp_groups(self.registers)

    def constants(self) -> dict[str, Constant]:
        return {**super().constants(), "WARP_GROUPS": True}


@dataclass(frozen=True)
class BulkTile(GroupTile):
    """A tile of a group that computes one after the other, `per_unit` of which share a compute unit, while the tensor
    memory accelerator copies what comes next at the request of further warps (bulk_copies.h). Of two `teams` of warps
    one stores its tile while the other one multiplies the next. `fewer`, `more`: the registers that work-items which
    copy have left, and that those which add take; `strip`: the columns of a warp's strip."""

    per_unit: ClassVar[int] = 1
    teams: int = 1
    fewer: int = 40
    more: int = 232
    strip: int = 64

    def __str__(self) -> str:
        return f"{super().__str__()}_by_turns" if self.teams > 1 else super().__str__()

    @property
    def threads(self) -> int:
        return self.teams * super().threads + 32 * _COPYING_WARPS

    @property
    def local_bytes(self) -> int:
        """Steps, two barriers of 8 bytes for each, and a strip of 16 rows of floats for each warp that adds; two
        barriers for teams."""
        return super().local_bytes + 16 * self.stages + self.teams * self.warps_down * 16 * self.strip * 4 + 16

    def time(self, device: Capabilities, rows: int, columns: int, depth: int, batch: int, nbytes: int) -> float:
        """While teams store their last tile, nothing is multiplied."""
        last = _LAST_TILE_NS if self.teams > 1 else 0
        return super().time(device, rows, columns, depth, batch, nbytes) + last

    def work(self, device: Capabilities, rows: int, columns: int, depth: int, batch: int = 1) -> Work:
        """As many groups as fit, where there is work for as many."""
        works = self.works(device, rows, columns, depth, batch)
        groups = works if isinstance(works, Dim) else computed(min, works, self._groups(device))
        return Work((groups * self.threads,), (self.threads,))

    def works(self, device: Capabilities, rows: int, columns: int, depth: int, batch: int = 1) -> int:
        """What groups go through one after the other: the tiles."""
        return self.tiles(rows, columns, batch)

    def constants(self) -> dict[str, Constant]:
        return {**super().constants(), "COPYING_WARPS": _COPYING_WARPS, "TEAMS": self.teams, "FEWER": self.fewer,
                "MORE": self.more, "STRIP_COLUMNS": self.strip, "SHARED_STEPS": False}

    def scratch(self, device: Capabilities, rows: int, columns: int, depth: int,
                ) -> tuple[tuple[Operand, ...], tuple[int, ...]]:
        """Two maps for each group, in scratch buffer 0, and its bytes."""
        words = self._groups(device) * _MAP_WORDS
        return (scratch_operand(0, TensorView.dense(_U64, (words,))),), (words * 8,)

    def _groups(self, device: Capabilities) -> int:
        """The most that run at once."""
        return self.per_unit * device.compute_units


@dataclass(frozen=True)
class SharedTile(BulkTile):
    """A tile whose steps several groups share where there are too few tiles for all compute units (shared_steps.h)."""

    per_unit: ClassVar[int] = 2
    least_steps: ClassVar[int] = 9
    """Of a share: with fewer, what is gained is lost when the shares are added."""

    def __str__(self) -> str:
        return f"{super().__str__()}_shared"

    def time(self, device: Capabilities, rows: int, columns: int, depth: int, batch: int, nbytes: int) -> float:
        shares, steps = self._shares(device, rows, columns, depth)
        works = self.tiles(rows, columns, 1) * shares
        return (super().time(device, works * self.rows, self.columns, steps * self.depth, 1, nbytes)
                + computed(_addition_ns, shares))

    def works(self, device: Capabilities, rows: int, columns: int, depth: int, batch: int = 1) -> int:
        """The shares of all tiles."""
        shares, _ = self._shares(device, rows, columns, depth)
        return self.tiles(rows, columns, 1) * shares

    def arguments(self, device: Capabilities, rows: int, columns: int, depth: int, batch: int = 1) -> dict[str, int]:
        shares, steps = self._shares(device, rows, columns, depth)
        return {"SHARES": shares, "SHARE_STEPS": steps}

    def constants(self) -> dict[str, Constant]:
        return {**super().constants(), "SHARED_STEPS": True}

    def scratch(self, device: Capabilities, rows: int, columns: int, depth: int,
                ) -> tuple[tuple[Operand, ...], tuple[int, ...]]:
        """Maps as before; the sums of all shares, where there are several; counters."""
        maps, nbytes = super().scratch(device, rows, columns, depth)
        shares, _ = self._shares(device, rows, columns, depth)
        sums = self._groups(device) * self.rows * self.columns
        operands = (*maps, scratch_operand(1, TensorView.dense(_F32, (sums,))), counters_operand())
        return operands, (*nbytes, computed(min, shares - 1, 1) * sums * 4)

    def _shares(self, device: Capabilities, rows: int, columns: int, depth: int) -> tuple[int, int]:
        """The groups that share a tile, and the steps of each but the last, which may have fewer."""
        tiles, steps = self.tiles(rows, columns, 1), ceil(depth / self.depth)
        if isinstance(tiles, Dim) or isinstance(steps, Dim):
            return 1, 1
        share = computed(_steps_of_share, tiles, steps, device.compute_units, self.least_steps)
        return ceil(steps / share), share


UNALIGNED_TILE = Tile(64, 64, 64, 3, 2, 2, 1.4, 2.1, 500, aligned=False)
TILES = (Tile(32, 32, 128, 3, 2, 2, 0.9, 1.3, 350), Tile(64, 64, 64, 3, 2, 2, 1.7, 2.55, 450),
         Tile(64, 128, 64, 3, 2, 2, 2.2, 2.95, 800), Tile(128, 128, 32, 3, 2, 2, 2.1, 3.4, 1600), UNALIGNED_TILE)
GROUP_TILES = (GroupTile.of(64, 64, 4, 128, 2.15, 3.05, 500), GroupTile.of(64, 128, 4, 128, 3.3, 3.9, 1000))
BULK_TILES = {columns: BulkTile.of(128, columns, stages, 168, speed, speed, overhead)
              for columns, stages, speed, overhead in ((64, 6, 4.2, 900), (128, 6, 6.3, 1950), (192, 4, 5.8, 2600),
                                                       (256, 4, 5.8, 2600))}
TURNS_TILES = {columns: replace(BulkTile.of(128, columns, stages, 168, 5.8, 5.8, overhead), warps_down=4, teams=2)
               for columns, stages, overhead in ((128, 6, 1500), (192, 4, 1300))}
"""By their columns, those of one team and of two; `overhead` of two is what is not hidden of storing a tile. What is
left out gains nothing over these."""
SHARED_TILE = replace(SharedTile.of(64, 64, 5, 128, 4.0, 3.4, 1700), fewer=24)
"""Of one group of four warps; five steps, so that two such groups fit on a compute unit. One of 128x128, of which one
fits, gains nothing over what there is."""
THREE_GROUPS_TILE = replace(BulkTile.of(192, 192, 4, 128, 5.7, 5.7, 4000), fewer=32, more=160, strip=32)
"""Of three groups of four warps. Its tiles fill 132 compute units where those of 128 rows leave the last ones idle."""


def misplaced(tile: Tile, operands: Iterable[tuple[TensorView, int]]) -> str | None:
    """What keeps a tile from operands (each with the axis along which its rows lie) where they are; None only where
    nothing can."""
    if not tile.aligned or all(view.is_aligned(within, CHUNK) for view, within in operands):
        return None
    return f"rows that do not start at multiples of {CHUNK} elements"
