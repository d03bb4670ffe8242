"""The kernel of Eye."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel

_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class EyeProblem(OnlyKernelProblem):
    """Ones on a diagonal."""

    @property
    def arguments(self) -> dict[str, int]:
        """The number of the diagonal; those that lie outside of every matrix are all alike."""
        diagonal = int(self.values[2].reshape(-1)[0]) if 2 in self.values else 0
        return {"diagonal": min(max(diagonal, -_LIMIT), _LIMIT)}


KERNELS = only_kernel("eye_ref", EyeProblem)
