"""The kernel of RegionYolo."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clinfer.base.shape import Size
from clinfer.kernels.contract import Constant
from clinfer.ops.region_yolo.op import RegionYolo
from clinfer.ops.shared.only_kernel import SpanProblem, only_kernel


@dataclass(frozen=True)
class RegionYoloProblem(SpanProblem):
    """Regions, each with coordinates, a confidence and classes."""

    primitive: RegionYolo

    @property
    def constants(self) -> dict[str, Constant]:
        primitive = self.primitive
        return {"COORDS": primitive.coords, "CLASSES": primitive.classes, "IS_SOFTMAX": primitive.do_softmax,
                **super().constants}

    @property
    def spanned(self) -> Sequence[Size]:
        return self.inputs[0].shape


KERNELS = only_kernel("region_yolo_ref", RegionYoloProblem)
