"""The kernels of PSROIPooling and DeformablePSROIPooling."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.kernels.contract import Constant, present_formats
from clinfer.ops.psroi_pooling.op import DeformablePSROIPooling, PSROIPooling
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel


@dataclass(frozen=True)
class PoolingProblem(OnlyKernelProblem):
    """Pictures, and the rectangles in them."""

    primitive: PSROIPooling

    @property
    def constants(self) -> dict[str, Constant]:
        primitive = self.primitive
        return {"SCALE": float(primitive.spatial_scale), "BINS_X": primitive.spatial_bins_x,
                "BINS_Y": primitive.spatial_bins_y, "IS_AVERAGE": primitive.mode.lower() == "average"}


@dataclass(frozen=True)
class DeformableProblem(PoolingProblem):
    """The same with bins that are moved."""

    primitive: DeformablePSROIPooling

    @property
    def constants(self) -> dict[str, Constant]:
        return {**super().constants, "MOVES": len(self.inputs) > 2, "REACH": float(self.primitive.trans_std),
                "PARTS": self.primitive.part_size}


KERNELS = only_kernel("psroi_pooling_ref", PoolingProblem, present_formats)
DEFORMABLE_KERNELS = only_kernel("deformable_psroi_pooling_ref", DeformableProblem, present_formats)
