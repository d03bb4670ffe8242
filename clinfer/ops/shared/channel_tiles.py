"""Tiles of convolutions, in either direction, on blocks of 16 channels, for CPUs (channel_tiles.h)."""
from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from clinfer.base.element_type import ElementType
from clinfer.base.layout import Layout
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Problem
from clinfer.kernels.cost import time_of
from clinfer.ops.shared.convolving import Groups
from clinfer.ops.shared.views import static

BLOCK = 16
BLOCKED_DATA = {3: "b_fs_yx_fsv16", 4: "b_fs_yx_fsv16", 5: "b_fs_zyx_fsv16"}
"""The format of data in blocks, by rank."""
_FLOATS = ("f32", "f16", "bf16")
SHARE_OF_PEAK = 0.8
"""What the best tile reaches of the peak of f32."""


@dataclass(frozen=True)
class Tile:
    """Pixels of a row x blocks of output channels, and the speed of such tiles relative to the best, without waste."""

    pixels: int
    blocks: int
    speed: float

    def __str__(self) -> str:
        return f"{self.pixels}x{self.blocks}"

    def tiles(self, channels: int) -> int:
        """Tiles of the output channels of one group."""
        return ceil(channels / (self.blocks * BLOCK))

    def flops(self, rows: int, width: int, groups: Groups, products: float) -> float:
        """Operations that take as long as `rows` rows of that many pixels do, each pixel and channel of which adds up
        so many products: what pixels of a row and channels of a group that do not exist waste is among them."""
        pixels = ceil(width / self.pixels) * self.pixels
        channels = groups.number * self.tiles(groups.outputs) * self.blocks * BLOCK
        return 2 * rows * pixels * channels * products / self.speed


def time_on_peak(problem: Problem, flops: float) -> float:
    """Nanoseconds of so many operations at the speed of the best tile."""
    return time_of(problem.capabilities.ceilings, flops=flops, efficiency=SHARE_OF_PEAK, nbytes=problem.moved_bytes)


def refusal(problem: Problem) -> str | None:
    """What no kernel on blocks of channels does."""
    data, weights, output = *problem.inputs[:2], problem.outputs[0]
    if data.element_type.name not in _FLOATS or output.element_type.computed.name not in _FLOATS:
        return "element types other than f32, f16, bf16"
    if weights.element_type.name not in (*_FLOATS, "i8"):
        return "weights other than f32, f16, bf16, i8"
    return None if weights.is_static else "the shape of the weights is dynamic"


def group_refusal(groups: Groups) -> str | None:
    """What keeps blocks of channels from belonging to one group."""
    apart = groups.number != 1 and (groups.outputs % BLOCK or groups.inputs % BLOCK)
    return "groups whose channels do not fill blocks of 16" if apart else None


def bytes_in_blocks(layout: Layout, *spatial: int) -> TensorView:
    """A tensor of bytes in blocks of channels as [B, blocks, *spatial, 16]; `spatial`: its sizes, or what they give
    together."""
    batch, channels, *_ = static(layout.shape)
    return TensorView.dense(ElementType.of("u8"), (batch, ceil(channels / BLOCK), *spatial, BLOCK))
