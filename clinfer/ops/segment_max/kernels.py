"""The kernel of SegmentMax."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.kernels.contract import Constant
from clinfer.ops.segment_max.op import SegmentMax
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel

_LOWEST = {"f64": "-DBL_MAX", "f32": "-FLT_MAX", "bf16": "-0x1.FEp127f", "f16": "-65504.0f", "i64": "LONG_MIN",
           "i32": "INT_MIN", "i16": "SHRT_MIN", "i8": "SCHAR_MIN"}
"""The lowest numbers of types that have negative ones."""


@dataclass(frozen=True)
class SegmentMaxProblem(OnlyKernelProblem):
    """Slices in segments."""

    primitive: SegmentMax

    @property
    def constants(self) -> dict[str, Constant]:
        lowest = _LOWEST.get(self.inputs[0].element_type.name, "0")
        return {"LOWEST": lowest, "FILL": lowest if self.primitive.fill_mode == "lowest" else "0"}


KERNELS = only_kernel("segment_max_ref", SegmentMaxProblem)
