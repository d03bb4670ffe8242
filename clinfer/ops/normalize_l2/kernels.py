"""Kernels of NormalizeL2."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clinfer.kernels.contract import Constant
from clinfer.kernels.jitter import literal
from clinfer.ops.normalize_l2.op import NormalizeL2
from clinfer.ops.shared.axis_kernels import AxisProblem, axis_kernels


@dataclass(frozen=True)
class NormalizeL2Problem(AxisProblem):
    """Lengths along the axes in input 1."""

    primitive: NormalizeL2

    @property
    def constants(self) -> Mapping[str, Constant]:
        """LENGTH(v) is the divisor for a sum of squares v."""
        eps = f"(INPUT0_COMPUTE){literal(float(self.primitive.eps))}"
        at_least = self.primitive.eps_mode.lower() == "max"
        return {"LENGTH(v)": f"sqrt(fmax((v), {eps}))" if at_least else f"sqrt((v) + {eps})"}


KERNELS = axis_kernels("normalize_l2", NormalizeL2Problem)
