"""The kernel of pooling into a given number of windows."""
from __future__ import annotations

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import Constant, KernelParams, KernelSpec, Stage, present_formats
from clinfer.kernels.tails import like_output
from clinfer.ops.pooling.op import AdaptiveMaxPool
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.reduction import LOWEST


def _constants(params: KernelParams) -> dict[str, Constant]:
    axes = range(params.inputs[0].rank)
    lists = {f"{name}_SIZES": "{" + ", ".join(f"{name}0_SIZE_{a}" for a in axes) + "}" for name in ("INPUT", "OUTPUT")}
    return {**lists, "IS_MAX": isinstance(params.primitive, AdaptiveMaxPool), "WITH_INDEX": len(params.outputs) > 1,
            "LOWEST": LOWEST[params.inputs[0].element_type.cl_compute]}


def _supports(params: KernelParams) -> str | None:
    is_max = isinstance(params.primitive, AdaptiveMaxPool)
    return None if is_max or params.inputs[0].element_type.is_float else "means are made for floats"


KERNELS = (
    KernelSpec("adaptive_pool_ref", (Stage(
        "adaptive_pool_ref.cl", "adaptive_pool_ref", lambda params: local_items(params.outputs[0].count),
        constants=_constants, bake=False, tail_view=like_output(TensorView.of)),), _supports, formats=present_formats),
)
