"""The depth and space primitives (OpenVINO DepthToSpace-1, SpaceToDepth-1)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.schema import Positive
from clinfer.base.shape import Shape
from clinfer.symbolic.dimensions import differ
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class DepthToSpace(Primitive):
    """Lays channels out as spatial blocks of `block_size` along each spatial axis.

    Input channel (block, channel) in mode `blocks_first`, (channel, block) in `depth_first`, where block
    counts the positions in a block in row-major order.
    """

    block_size: Positive = 1
    mode: str = "blocks_first"
    op_type: ClassVar[str] = "DepthToSpace"

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data, block = shapes[0], self.block_size
        if data is None or len(data) < 3 or differ(data[1] % block ** (len(data) - 2), 0):
            return None
        return ((data[0], data[1] // block ** (len(data) - 2), *(size * block for size in data[2:])),)


@dataclass(frozen=True)
class SpaceToDepth(Primitive):
    """Gathers spatial blocks of `block_size` along each spatial axis into channels; undoes DepthToSpace."""

    block_size: Positive = 1
    mode: str = "blocks_first"
    op_type: ClassVar[str] = "SpaceToDepth"

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data, block = shapes[0], self.block_size
        if data is None or len(data) < 3 or any(differ(size % block, 0) for size in data[2:]):
            return None
        return ((data[0], data[1] * block ** (len(data) - 2), *(size // block for size in data[2:])),)
