"""The kernel of BatchNormInference."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.kernels.contract import Constant, Formats, Work, present_formats
from clinfer.ops.batch_norm.op import BatchNormInference
from clinfer.ops.shared.copying import span_constants, span_dispatch
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel


@dataclass(frozen=True)
class BatchNormProblem(OnlyKernelProblem):
    """Data with four numbers per channel; on CPUs a work-item takes a run of the last axis."""

    primitive: BatchNormInference

    @property
    def formats(self) -> Formats:
        return present_formats(self)

    @property
    def constants(self) -> dict[str, Constant]:
        return {"EPSILON": float(self.primitive.epsilon), **span_constants(self)}

    @property
    def work(self) -> Work:
        return span_dispatch(self, self.outputs[0].shape)


KERNELS = only_kernel("batch_norm_ref", BatchNormProblem)
