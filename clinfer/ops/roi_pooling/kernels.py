"""The kernel of ROIPooling."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.kernels.contract import Constant, Formats, present_formats
from clinfer.ops.roi_pooling.op import ROIPooling
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel


@dataclass(frozen=True)
class ROIPoolingProblem(OnlyKernelProblem):
    """Pictures, and the rectangles in them."""

    primitive: ROIPooling

    @property
    def formats(self) -> Formats:
        return present_formats(self)

    @property
    def constants(self) -> dict[str, Constant]:
        return {"IS_MAX": self.primitive.method.lower() == "max", "SCALE": float(self.primitive.spatial_scale)}


KERNELS = only_kernel("roi_pooling_ref", ROIPoolingProblem)
