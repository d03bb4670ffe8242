"""The kernel of the convert room."""
from __future__ import annotations

from clinfer.kernels.spec import Dispatch, KernelParams, KernelSpec, Stage, present_formats

GROUP = 64


def _supports(params: KernelParams) -> str | None:
    return "packed 4-bit outputs" if params.outputs[0].element_type.is_packed else None


def _dispatch(params: KernelParams) -> Dispatch:
    return Dispatch((-(-params.outputs[0].count // GROUP) * GROUP,), (GROUP,))


KERNELS = (
    KernelSpec("convert_ref", supports=_supports, formats=present_formats, stages=(
        Stage("convert_ref.cl", "convert_ref", _dispatch, bake=False),)),
)
