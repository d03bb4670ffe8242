"""Kernels of the normalize_l2 room."""
from __future__ import annotations

from clinfer.kernels.jitter import literal
from clinfer.kernels.spec import Constant, KernelParams
from clinfer.ops.shared.normalizing import normalizing_kernels


def _constants(params: KernelParams) -> dict[str, Constant]:
    """LENGTH(v) is the divisor for a sum of squares v."""
    eps = f"(INPUT0_COMPUTE){literal(float(params.primitive.eps))}"
    at_least = params.primitive.eps_mode.lower() == "max"
    return {"LENGTH(v)": f"sqrt(fmax((v), {eps}))" if at_least else f"sqrt((v) + {eps})"}


KERNELS = normalizing_kernels("normalize_l2", _constants)
