"""The RegionYolo primitive (OpenVINO RegionYolo-1)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.schema import Natural, Positive
from clinfer.topology import Primitive


@dataclass(frozen=True)
class RegionYolo(Primitive):
    """Input 0 [n, regions * (coords + 1 + classes), h, w] with the logistic function of x, y and confidence.

    `do_softmax` (YOLO v2): there are `num` regions, classes become their softmax, and the axes from `axis` to
    `end_axis` one. Else (v3): there are as many as `mask` has entries, and classes become their logistic function.
    """

    axis: int = 1
    coords: Natural = 4
    classes: Natural = 0
    end_axis: int = 3
    num: Positive = 1
    do_softmax: bool = True
    mask: tuple[int, ...] = ()
    anchors: tuple[float, ...] = ()
    op_type: ClassVar[str] = "RegionYolo"
