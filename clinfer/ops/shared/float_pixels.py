"""Tiles of pixels x output channels by assembly, on narrow vectors (float_pixels.h)."""
from __future__ import annotations

from math import ceil
from typing import NamedTuple

from clinfer.kernels.contract import Constant
from clinfer.ops.shared.channel_tiles import BLOCK
from clinfer.ops.shared.float_products import Tiles

_WIDE_PIXELS, _SAME_PIXELS = 4, 6
"""Pixels of tiles of three vectors, and of those of two that are as much work."""


class Share(NamedTuple):
    """Output channels from `channel` on that have tiles side by side, of so many pixels x vectors of 8 channels."""

    channel: int
    tiles: int
    pixels: int
    vectors: int

    @property
    def constants(self) -> dict[str, Constant]:
        """Of the kernel that computes it."""
        return {"TILES_OF_FLOATS": 1, "PANELS_JOINED": 0, "VECTOR_FLOATS": 8, "TILE_PIXELS": self.pixels,
                "TILE_VECTORS": self.vectors}


def shares_of(channels: int, pixels: int) -> tuple[Share, ...]:
    """How tiles of so many pixels cover the channels: where the last block of 16 has 8 at most, it and the one before
    it are one tile of three vectors."""
    blocks, rest = ceil(channels / BLOCK), channels % BLOCK
    if blocks == 1 or not 0 < rest <= BLOCK // 2:
        return (Share(0, blocks, pixels, 2),)
    whole = (Share(0, blocks - 2, pixels, 2),) if blocks > 2 else ()
    return (*whole, Share((blocks - 2) * BLOCK, 1, _WIDE_PIXELS, 3))


def tiles_of(kind: Tiles, channels: int, count: int, pixels: int) -> float:
    """Tiles of so many pixels x two vectors that are as much work as all shares of a picture of `count` pixels."""
    wide = (_SAME_PIXELS / kind.speeds[_SAME_PIXELS]) / (pixels / kind.speeds[pixels])
    return sum(share.tiles * ceil(count / share.pixels) * (wide if share.vectors > 2 else 1)
               for share in shares_of(channels, pixels))
