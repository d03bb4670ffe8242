"""Tiles of products of bytes for CPUs (byte_products.h): rows x panels of 32 columns."""
from __future__ import annotations

from clinfer.ops.shared.float_products import IN_REGISTERS

PANEL_COLUMNS = 32
TILES = {32: 6.0, 16: 4.5, 14: 1.0, 8: 0.92, 7: 0.88, 4: 0.7, 1: 0.2}
"""Rows of a tile with the speed of such tiles relative to the best of vectors, without waste."""
_SPEED, _PLAIN_SPEED = 2.8, 0.15
"""Products that the best tile adds up in the time of one of f32 at its peak: with the instructions for bytes, and
without."""


def flops_of(products: float, tile: int, byte_products: bool) -> float:
    """The operations of f32 that take as long at their peak as that many products of bytes in such tiles."""
    return 2 * products / ((_SPEED if byte_products else _PLAIN_SPEED) * TILES[tile])


def most_panels(tile: int) -> int:
    """Panels of one work-item, which share the rows: registers multiply these faster than they become bytes."""
    return 16 if tile in IN_REGISTERS else 4
