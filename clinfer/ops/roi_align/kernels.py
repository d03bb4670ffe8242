"""The kernels of ROIAlign and ROIAlignRotated."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.errors import ClinferError
from clinfer.kernels.contract import Constant, present_formats
from clinfer.ops.roi_align.op import ROIAlign, ROIAlignRotated
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel

# Shifts of the corners before and behind the scale.
_SHIFTS = {"asymmetric": (0.0, 0.0), "half_pixel_for_nn": (0.0, -0.5), "half_pixel": (0.5, -0.5)}


@dataclass(frozen=True)
class ROIAlignProblem(OnlyKernelProblem):
    """Pictures, and the rectangles in them."""

    primitive: ROIAlign

    @property
    def constants(self) -> dict[str, Constant]:
        """The attributes; ClinferError for an unknown `aligned_mode`."""
        primitive = self.primitive
        kind = primitive.aligned_mode.lower()
        if kind not in _SHIFTS:
            raise ClinferError("unknown aligned_mode", where=primitive.where,
                               values={"aligned_mode": kind, "known": ", ".join(_SHIFTS)})
        before, behind = _SHIFTS[kind]
        return {"SAMPLES": primitive.sampling_ratio, "SCALE": float(primitive.spatial_scale), "SHIFT_BEFORE": before,
                "SHIFT_BEHIND": behind, "IS_ALIGNED": kind != "asymmetric",
                "IS_MAX": primitive.mode.lower() == "max"}


@dataclass(frozen=True)
class RotatedProblem(OnlyKernelProblem):
    """Pictures, and the rectangles in them, which are turned."""

    primitive: ROIAlignRotated

    @property
    def constants(self) -> dict[str, Constant]:
        primitive = self.primitive
        return {"SAMPLES": primitive.sampling_ratio, "SCALE": float(primitive.spatial_scale),
                "TURN": -1 if primitive.clockwise_mode else 1}


KERNELS = only_kernel("roi_align_ref", ROIAlignProblem, present_formats)
ROTATED_KERNELS = only_kernel("roi_align_rotated_ref", RotatedProblem, present_formats)
