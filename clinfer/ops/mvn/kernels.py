"""Kernels of MVN."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clinfer.kernels.contract import Constant
from clinfer.kernels.jitter import literal
from clinfer.ops.mvn.op import MVN
from clinfer.ops.shared.axis_kernels import AxisProblem, axis_kernels


@dataclass(frozen=True)
class MVNProblem(AxisProblem):
    """Mean and deviation along the axes in input 1."""

    primitive: MVN

    @property
    def constants(self) -> Mapping[str, Constant]:
        """CENTRE, whether the mean is taken off, and DEVIATION(v), the divisor for a variance v."""
        primitive = self.primitive
        eps, centre = literal(float(primitive.eps)), bool(primitive.centre)
        if not primitive.normalize_variance:
            return {"CENTRE": centre, "DEVIATION(v)": "((v) - (v) + 1)"}
        deviation = f"sqrt((v) + {eps})" if primitive.eps_inside_sqrt else f"(sqrt(v) + {eps})"
        return {"CENTRE": centre, "DEVIATION(v)": deviation}


KERNELS = axis_kernels("mvn", MVNProblem)
