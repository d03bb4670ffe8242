"""The kernel of the depth_space room."""
from __future__ import annotations

from collections.abc import Mapping

from clinfer.kernels.spec import Constant, Dispatch, KernelParams, KernelSpec, Stage, present_formats
from clinfer.ops.depth_space.op import DepthToSpace
from clinfer.ops.shared.copying import local_items


def _supports(params: KernelParams) -> str | None:
    return "packed 4-bit types" if params.outputs[0].element_type.is_packed else None


def _constants(params: KernelParams) -> Mapping[str, Constant]:
    primitive = params.primitive
    return {"TO_SPACE": isinstance(primitive, DepthToSpace), "DEPTH_FIRST": primitive.mode == "depth_first",
            "BLOCK": primitive.block_size}


def _dispatch(params: KernelParams) -> Dispatch:
    return local_items(params.outputs[0].count)


KERNELS = (
    KernelSpec("depth_space_ref", supports=_supports, formats=present_formats, stages=(
        Stage("depth_space_ref.cl", "depth_space_ref", _dispatch, constants=_constants, bake=False),)),
)
