"""Kernels of the MVN room."""
from __future__ import annotations

from clinfer.kernels.jitter import literal
from clinfer.kernels.spec import Constant, KernelParams
from clinfer.ops.shared.normalizing import normalizing_kernels


def _constants(params: KernelParams) -> dict[str, Constant]:
    primitive = params.primitive
    eps, centre = literal(float(primitive.eps)), bool(primitive.centre)
    if not primitive.normalize_variance:
        return {"CENTRE": centre, "DEVIATION(v)": "((v) - (v) + 1)"}
    deviation = f"sqrt((v) + {eps})" if primitive.eps_inside_sqrt else f"(sqrt(v) + {eps})"
    return {"CENTRE": centre, "DEVIATION(v)": deviation}


KERNELS = normalizing_kernels("mvn", _constants)
