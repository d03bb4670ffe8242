"""Tiles of products of bytes on CPUs (byte_products.h): what they ask of devices, and how long they take."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clinfer.kernels.contract import Constant
from clinfer.kernels.recipe import USUAL, Recipe
from clinfer.ops.shared.float_products import IN_REGISTERS, rows_refusal
from clinfer.runtime.capabilities import Capabilities


@dataclass(frozen=True)
class ByteTiles:
    """Tiles in vectors: the floats of a vector register, the values of a row that a step multiplies, and those
    whose weights are packed together at least, how many products the best of them adds up in the time of one of f32 at
    its peak, the rows of a tile with the share of that speed that such tiles reach without waste, the panels of one
    work-item, which share the rows, and what the assembly asks of devices, if it is any.
    """

    vector_floats: int
    step_values: int
    block_values: int
    speed: float
    rows: Mapping[int, float]
    panels: int
    recipe: Recipe

    @property
    def columns(self) -> int:
        """Of a panel: two vectors."""
        return 2 * self.vector_floats

    def blocks(self, outputs: str, inputs: str, values: int | None = None) -> str:
        """The end of the name of a format of weights, given the letters of both axes: blocks of `values` of a row
        (`block_values` by default), in steps."""
        steps = (values or self.block_values) // self.step_values
        outer = f"{inputs}v{steps}_" if steps > 1 else ""
        return f"{outer}{outputs}v{self.columns}_{inputs}v{self.step_values}"

    def constants(self, tile: int) -> Mapping[str, Constant]:
        """Those of byte_products.h for a tile of so many rows."""
        return {"TILE_ROWS": tile, "MOST_PANELS": most_panels(self, tile), "VECTOR_FLOATS": self.vector_floats,
                "STEP_VALUES": self.step_values, "BLOCK_VALUES": self.block_values,
                "BYTE_PRODUCTS": bool(self.recipe.requires)}


_OF_16 = {32: 6.0, 16: 4.5, 14: 1.0, 8: 0.92, 7: 0.88, 4: 0.7, 1: 0.2}
_WIDE = ByteTiles(16, 4, 4, 2.8, _OF_16, 4, Recipe(requires=("byte_products",)))
_PLAIN = ByteTiles(16, 4, 4, 0.15, _OF_16, 4, USUAL)
_NARROW = ByteTiles(8, 2, 16, 1.5, {6: 1.0, 5: 0.98, 4: 0.95, 2: 0.7, 1: 0.4}, 32,
                    Recipe(requires=("short_products",)))
_PANELS_IN_REGISTERS = 16
"""These multiply rows faster than they become bytes."""
TILES = tuple(sorted({*_OF_16, *_NARROW.rows}, reverse=True))
"""Rows of a tile, on some device."""


def byte_tiles(device: Capabilities) -> ByteTiles:
    """Those by the best instructions that a device has, or else by none."""
    return _WIDE if device.byte_products else _NARROW if device.multiplies_bytes else _PLAIN


def tile_refusal(device: Capabilities, tile: int) -> str | None:
    """None, or why a device has no tiles of so many rows."""
    return rows_refusal(device, tile) if tile in byte_tiles(device).rows else "the device has tiles of other rows"


def flops_of(products: float, tile: int, device: Capabilities) -> float:
    """The operations of f32 that take as long at their peak as that many products of bytes in such tiles."""
    tiles = byte_tiles(device)
    return 2 * products / (tiles.speed * tiles.rows[tile])


def most_panels(tiles: ByteTiles, tile: int) -> int:
    """Panels of one work-item, which share the rows."""
    return _PANELS_IN_REGISTERS if tile in IN_REGISTERS else tiles.panels
