"""The RegionYolo primitive (OpenVINO RegionYolo-1)."""
from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from clinfer.base.errors import ClinferError
from clinfer.base.schema import Natural, Positive
from clinfer.base.shape import Shape, StaticShape, show
from clinfer.symbolic.shape_inference import Values
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

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data = shapes[0]
        if data is None or len(data) != 4:
            return None
        if not self.do_softmax:
            return ((data[0], (self.classes + self.coords + 1) * len(self.mask), *data[2:]),)
        first, last = (axis + 4 if axis < 0 else axis for axis in (self.axis, self.end_axis))
        if not 0 <= first <= last < 4:
            return None
        return ((*data[:first], prod(data[first:last + 1]), *data[last + 1:]),)

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        regions = self.num if self.do_softmax else len(self.mask)
        if shapes[0][1] != regions * (self.coords + 1 + self.classes):
            raise ClinferError("the channels are not those of the regions", where=self.where, values={
                "data": show(shapes[0]), "regions": regions, "coords": self.coords, "classes": self.classes})
