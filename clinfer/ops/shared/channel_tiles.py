"""Tiles of convolutions, in either direction, on blocks of 16 channels, for CPUs (channel_tiles.h)."""
from __future__ import annotations

from math import ceil

from clinfer.base.shape import Size
from clinfer.kernels.spec import KernelParams

BLOCK = 16
UNKNOWN_WIDTH = 60
"""Pixels of a row for which tiles are chosen where the width is dynamic."""
BLOCKED_DATA = {3: "b_fs_yx_fsv16", 4: "b_fs_yx_fsv16", 5: "b_fs_zyx_fsv16"}
"""The format of data in blocks, by rank."""

Tile = tuple[int, int]
"""Pixels of a row, and blocks of output channels."""


def refusal(params: KernelParams) -> str | None:
    """What no kernel on blocks of channels does."""
    if params.capabilities.device_type != "CPU":
        return "made for CPUs"
    tensors = (*params.inputs[:2], params.outputs[0])
    if any(x.element_type.name not in ("f32", "f16", "bf16") for x in tensors):
        return "element types other than f32, f16, bf16"
    return None if params.inputs[1].is_static else "the shape of the weights is dynamic"


def group_refusal(groups: int, outputs: int, inputs: int) -> str | None:
    """What keeps blocks of channels from belonging to one group."""
    apart = groups != 1 and (outputs % BLOCK or inputs % BLOCK)
    return "groups whose channels do not fill blocks of 16" if apart else None


def efficiency(tile: Tile, speed: float, pixels: Size, channels: int) -> float:
    """The speed of a tile, less what it wastes on pixels of a row and channels of a group that do not exist."""
    return speed * used(pixels, tile[0]) * used(ceil(channels / BLOCK), tile[1])


def used(size: Size, step: int) -> float:
    """The part of the steps covering `size` that is inside."""
    if not isinstance(size, int):
        return UNKNOWN_WIDTH / (UNKNOWN_WIDTH + (step - 1) / 2)
    return size / (ceil(size / step) * step) if size else 1.0


def tile_count(tile: Tile, channels: int) -> int:
    """Tiles of the output channels of one group."""
    return ceil(channels / (tile[1] * BLOCK))
