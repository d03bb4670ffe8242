"""The kernel of RegionYolo."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.kernels.contract import Constant, Work
from clinfer.ops.region_yolo.op import RegionYolo
from clinfer.ops.shared.copying import span_constants, span_dispatch
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel


@dataclass(frozen=True)
class RegionYoloProblem(OnlyKernelProblem):
    """Regions, each with coordinates, a confidence and classes."""

    primitive: RegionYolo

    @property
    def constants(self) -> dict[str, Constant]:
        primitive = self.primitive
        return {"COORDS": primitive.coords, "CLASSES": primitive.classes, "IS_SOFTMAX": primitive.do_softmax,
                **span_constants(self)}

    @property
    def work(self) -> Work:
        return span_dispatch(self, self.inputs[0].shape)


KERNELS = only_kernel("region_yolo_ref", RegionYoloProblem)
