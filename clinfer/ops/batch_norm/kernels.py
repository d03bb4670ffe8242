"""The kernel of BatchNormInference."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.kernels.contract import Constant, present_formats
from clinfer.ops.batch_norm.op import BatchNormInference
from clinfer.ops.shared.only_kernel import SpanProblem, only_kernel


@dataclass(frozen=True)
class BatchNormProblem(SpanProblem):
    """Data with four numbers per channel."""

    primitive: BatchNormInference

    @property
    def constants(self) -> dict[str, Constant]:
        return {"EPSILON": float(self.primitive.epsilon), **super().constants}


KERNELS = only_kernel("batch_norm_ref", BatchNormProblem, present_formats)
