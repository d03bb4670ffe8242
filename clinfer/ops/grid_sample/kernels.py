"""The kernel of the grid_sample room."""
from __future__ import annotations

from clinfer.kernels.spec import Constant, Dispatch, KernelParams, KernelSpec, Stage, present_formats
from clinfer.ops.shared.copying import LOCAL_SIZE

CHANNELS = 8
_MODES = ("bilinear", "bicubic", "nearest")
_PADDINGS = ("zeros", "border", "reflection")


def _constants(params: KernelParams) -> dict[str, Constant]:
    primitive = params.primitive
    return {"CHANNELS": CHANNELS, "MODE": _MODES.index(primitive.mode.lower()),
            "PADDING": _PADDINGS.index(primitive.padding_mode.lower()), "ALIGN_CORNERS": primitive.align_corners}


def _dispatch(params: KernelParams) -> Dispatch:
    batch, channels, height, width = params.outputs[0].static_shape
    places = -(-batch * height * width // LOCAL_SIZE) * LOCAL_SIZE
    return Dispatch((places, -(-channels // CHANNELS)), (LOCAL_SIZE, 1))


def _has_doubles(params: KernelParams) -> str | None:
    kinds = {x.element_type.name for x in params.inputs}
    return "computes in f32" if "f64" in kinds else None


KERNELS = (
    KernelSpec("grid_sample_ref", supports=_has_doubles, formats=present_formats, stages=(
        Stage("grid_sample_ref.cl", "grid_sample_ref", _dispatch, constants=_constants, bake=False),)),
)
