"""Kernels of the batch_norm room."""
from __future__ import annotations

from clinfer.kernels.spec import Constant, Dispatch, KernelParams, KernelSpec, Stage, present_formats
from clinfer.ops.shared.copying import span_constants, span_dispatch


def _constants(params: KernelParams) -> dict[str, Constant]:
    return {"EPSILON": float(params.primitive.epsilon), **span_constants(params)}


def _dispatch(params: KernelParams) -> Dispatch:
    return span_dispatch(params, params.outputs[0].static_shape)


KERNELS = (
    KernelSpec("batch_norm_ref", (Stage("batch_norm_ref.cl", "batch_norm_ref", _dispatch, constants=_constants,
                                        bake=False),), formats=present_formats),
)
