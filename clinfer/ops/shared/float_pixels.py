"""Tiles of pixels x output channels by assembly, on narrow vectors (float_pixels.h)."""
from __future__ import annotations

from math import ceil
from typing import NamedTuple

from clinfer.kernels.contract import Constant
from clinfer.ops.shared.channel_tiles import BLOCK
from clinfer.ops.shared.float_products import Tiles

_VECTOR = 8
"""Channels of one."""
_WIDE_CHANNELS, _WIDE_PIXELS, _SAME_PIXELS = 24, 4, 6
"""Of tiles of three vectors, and the pixels of those of two that are as much work."""


class PixelTiles(NamedTuple):
    """How many tiles cover the output channels of a group, side by side, and the pixels x vectors of 8 channels of
    each."""

    across: int
    pixels: int
    vectors: int

    @property
    def channels(self) -> int:
        """Of a tile."""
        return self.vectors * _VECTOR

    @property
    def constants(self) -> dict[str, Constant]:
        """Of the kernel that computes them."""
        return {"TILES_OF_FLOATS": 1, "PANELS_JOINED": 0, "VECTOR_FLOATS": _VECTOR, "TILE_PIXELS": self.pixels,
                "TILE_VECTORS": self.vectors}


def pixel_tiles(channels: int, pixels: int) -> PixelTiles:
    """Tiles of so many pixels, unless all channels are one tile of three vectors."""
    if BLOCK < channels <= _WIDE_CHANNELS:
        return PixelTiles(1, _WIDE_PIXELS, 3)
    return PixelTiles(ceil(channels / BLOCK), pixels, 2)


def same_tiles(kind: Tiles, channels: int, count: int, pixels: int) -> float:
    """Tiles of so many pixels x two vectors that are as much work as those of a picture of `count` pixels."""
    tiles = pixel_tiles(channels, pixels)
    wide = (_SAME_PIXELS / kind.speeds[_SAME_PIXELS]) / (pixels / kind.speeds[pixels]) if tiles.vectors > 2 else 1.0
    return tiles.across * ceil(count / tiles.pixels) * wide
