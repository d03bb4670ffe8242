"""Tiles of products of bytes for CPUs (byte_products.h): rows x panels of 32 columns."""
from __future__ import annotations

from math import ceil

from clinfer.symbolic.symbols import pure

PANEL_COLUMNS = 32
MOST_PANELS = 4
"""Panels of one work-item, which share the rows."""
TILES = {14: 1.0, 8: 0.92, 4: 0.7, 1: 0.2}
"""Rows of a tile with the speed of such tiles relative to the best, without waste."""
_SPEED, _PLAIN_SPEED = 2.8, 0.15
"""Products that the best tile adds up in the time of one of f32 at its peak: with the instructions for bytes, and
without."""
_ITEMS_PER_UNIT = 4
"""Work-items that keep a core busy to the end."""


def flops_of(products: float, tile: int, byte_products: bool) -> float:
    """The operations of f32 that take as long at their peak as that many products of bytes in such tiles."""
    return 2 * products / ((_SPEED if byte_products else _PLAIN_SPEED) * TILES[tile])


@pure
def shared_panels(tiles: int, panels: int, units: int) -> int:
    """As many panels for each work-item as leave enough of them for every core; at least 1."""
    most = ceil(panels * tiles / (_ITEMS_PER_UNIT * units))
    return max(min(most, MOST_PANELS), 1)
