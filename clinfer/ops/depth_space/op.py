"""The depth and space primitives (OpenVINO DepthToSpace-1, SpaceToDepth-1)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.schema import Positive
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


@dataclass(frozen=True)
class SpaceToDepth(Primitive):
    """Gathers spatial blocks of `block_size` along each spatial axis into channels; undoes DepthToSpace."""

    block_size: Positive = 1
    mode: str = "blocks_first"
    op_type: ClassVar[str] = "SpaceToDepth"
