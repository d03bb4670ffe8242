"""The kernel of ReorgYolo."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.kernels.contract import Constant
from clinfer.ops.reorg_yolo.op import ReorgYolo
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel


@dataclass(frozen=True)
class ReorgYoloProblem(OnlyKernelProblem):
    """Pictures whose places become channels."""

    primitive: ReorgYolo

    @property
    def constants(self) -> dict[str, Constant]:
        return {"STRIDE": self.primitive.stride[0]}


KERNELS = only_kernel("reorg_yolo_ref", ReorgYoloProblem)
