"""The kernel of ROIPooling."""
from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from clinfer.kernels.contract import Constant, Work, present_formats
from clinfer.ops.roi_pooling.op import ROIPooling
from clinfer.ops.shared.copying import LOCAL_SIZE
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel
from clinfer.ops.shared.views import static

_CHANNELS, _CHANNELS_ON_CPU = 16, 64


@dataclass(frozen=True)
class ROIPoolingProblem(OnlyKernelProblem):
    """Pictures, and the rectangles in them."""

    primitive: ROIPooling

    @property
    def constants(self) -> dict[str, Constant]:
        return {"IS_MAX": self.primitive.method.lower() == "max", "SCALE": float(self.primitive.spatial_scale),
                "CHANNELS": self._channels}

    @property
    def work(self) -> Work:
        rois, channels, height, width = static(self.outputs[0].shape)
        bins = rois * height * width
        lanes = 1 if self.runs_on_cpu else LOCAL_SIZE
        return Work((ceil(bins / lanes) * lanes, ceil(channels / self._channels)), (lanes, 1))

    @property
    def _channels(self) -> int:
        """Those of one work-item."""
        return _CHANNELS_ON_CPU if self.runs_on_cpu else _CHANNELS


KERNELS = only_kernel("roi_pooling_ref", ROIPoolingProblem, present_formats)
