"""The kernel of the eye room."""
from __future__ import annotations

from clinfer.kernels.spec import KernelParams, KernelSpec, Stage
from clinfer.ops.shared.copying import local_items


def _arguments(params: KernelParams) -> dict[str, int]:
    """The number of the diagonal; those that lie outside of every matrix are all alike."""
    limit = 2**31 - 1
    return {"diagonal": min(max(int(params.values[2].reshape(-1)[0]), -limit), limit) if 2 in params.values else 0}


KERNELS = (
    KernelSpec("eye_ref", (Stage("eye_ref.cl", "eye_ref", lambda params: local_items(params.outputs[0].count),
                                 arguments=_arguments, bake=False),)),
)
