"""The kernel of the reshape room, for results that cannot share their input's memory (padded ones)."""
from __future__ import annotations

from clinfer.kernels.spec import Dispatch, KernelParams, KernelSpec, Stage
from clinfer.ops.shared.copying import local_items


def _supports(params: KernelParams) -> str | None:
    return "packed 4-bit types" if params.outputs[0].element_type.is_packed else None


def _dispatch(params: KernelParams) -> Dispatch:
    return local_items(params.outputs[0].count)


KERNELS = (
    KernelSpec("reshape_ref", supports=_supports, stages=(
        Stage("reshape_ref.cl", "reshape_ref", _dispatch, bake=False),)),
)
