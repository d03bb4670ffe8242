"""The kernel of the roi_align room."""
from __future__ import annotations

from clinfer.base.errors import ClinferError
from clinfer.kernels.spec import Constant, KernelParams, KernelSpec, Stage, present_formats
from clinfer.ops.shared.copying import local_items

# Shifts of the corners before and behind the scale.
_SHIFTS = {"asymmetric": (0.0, 0.0), "half_pixel_for_nn": (0.0, -0.5), "half_pixel": (0.5, -0.5)}


def _constants(params: KernelParams) -> dict[str, Constant]:
    primitive = params.primitive
    kind = primitive.aligned_mode.lower()
    if kind not in _SHIFTS:
        raise ClinferError("unknown aligned_mode", where=primitive.where,
                           values={"aligned_mode": kind, "known": ", ".join(_SHIFTS)})
    before, behind = _SHIFTS[kind]
    return {"SAMPLES": primitive.sampling_ratio, "SCALE": float(primitive.spatial_scale), "SHIFT_BEFORE": before,
            "SHIFT_BEHIND": behind, "IS_ALIGNED": kind != "asymmetric", "IS_MAX": primitive.mode.lower() == "max"}


KERNELS = (
    KernelSpec("roi_align_ref", formats=present_formats, stages=(
        Stage("roi_align_ref.cl", "roi_align_ref", lambda params: local_items(params.outputs[0].count),
              constants=_constants, bake=False),)),
)
