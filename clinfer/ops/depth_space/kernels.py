"""The kernel of DepthToSpace and SpaceToDepth."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.kernels.contract import Constant, present_formats
from clinfer.ops.depth_space.op import DepthToSpace, SpaceToDepth
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel


@dataclass(frozen=True)
class DepthSpaceProblem(OnlyKernelProblem):
    """Channels that become places, or places that become channels."""

    primitive: DepthToSpace | SpaceToDepth

    @property
    def constants(self) -> dict[str, Constant]:
        return {"TO_SPACE": isinstance(self.primitive, DepthToSpace),
                "DEPTH_FIRST": self.primitive.mode == "depth_first", "BLOCK": self.primitive.block_size}


KERNELS = only_kernel("depth_space_ref", DepthSpaceProblem, present_formats)
