"""A library of one kernel, as a third party might bring it: matrix products of two planar f32 matrices."""
from __future__ import annotations

from clinfer.kernels.library import Library
from clinfer.kernels.spec import Dispatch, KernelParams, KernelSpec, Stage
from clinfer.ops.matmul.op import MatMul
from clinfer.runtime.capabilities import Capabilities


def _supports(params: KernelParams) -> str | None:
    if any(x.rank != 2 or x.element_type.name != "f32" for x in (*params.inputs, *params.outputs)):
        return "made for two matrices of f32"
    return "transposed" if params.primitive.transpose_a or params.primitive.transpose_b else None


def library(score: float, refusal: str | None = None) -> Library:
    """The library; its kernel has this score, and it refuses every device if so said."""
    def refuses(capabilities: Capabilities) -> str | None:
        return refusal
    stage = Stage("toy_product.cl", "toy_product", lambda params: Dispatch(params.outputs[0].static_shape),
                  bake=False, package=__name__)
    spec = KernelSpec("toy_product", (stage,), _supports, lambda params: score, type="toy")
    return Library("toy", {MatMul: (spec,)}, refuses)
