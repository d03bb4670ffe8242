"""The ROIAlign primitives (OpenVINO ROIAlign-3, ROIAlign-9 and ROIAlignRotated-15)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.errors import ClinferError
from clinfer.base.shape import Shape, StaticShape, empty, show
from clinfer.symbolic.dimensions import differ, same_size
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class ROIAlign(Primitive):
    """Input 0 [n, c, h, w] pooled to [r, c, pooled_h, pooled_w] within the rectangles of input 1 [r, 4].

    Rectangles are x1, y1, x2, y2 and are multiplied by `spatial_scale`; input 2 [r] says to which picture each
    belongs. Every bin is sampled at `sampling_ratio` places (0: as many as it has pixels) along each axis,
    interpolating between pixels; `mode` "avg" takes their mean, "max" the largest or 0.
    `aligned_mode` "asymmetric" counts pixels from their corners and makes rectangles one pixel large at
    least; the others count from the centres and differ in whether those are meant before the scale
    ("half_pixel") or behind it ("half_pixel_for_nn").
    """

    pooled_h: int = 1
    pooled_w: int = 1
    sampling_ratio: int = 0
    spatial_scale: float = 1.0
    mode: str = "avg"
    aligned_mode: str = "asymmetric"
    op_type: ClassVar[str] = "ROIAlign"
    opset: ClassVar[str] = "opset9"

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        return pooled(shapes, 4, (self.pooled_h, self.pooled_w))

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        if 0 in shapes[0] and not empty(outputs):
            raise ClinferError("pictures without pixels cannot be pooled", where=self.where,
                               values={"pictures": show(shapes[0])})


@dataclass(frozen=True)
class ROIAlignRotated(Primitive):
    """ROIAlign "avg" of rectangles (input 1 [r, 5]: x and y of the centre, width, height, angle) that are turned by
    that angle, in radians, to the right if `clockwise_mode`. Pixels are counted from their centres."""

    pooled_h: int = 1
    pooled_w: int = 1
    sampling_ratio: int = 0
    spatial_scale: float = 1.0
    clockwise_mode: bool = False
    op_type: ClassVar[str] = "ROIAlignRotated"
    opset: ClassVar[str] = "opset15"

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        return pooled(shapes, 5, (self.pooled_h, self.pooled_w))


def pooled(shapes: tuple[Shape | None, ...], numbers: int, bins: tuple[int, int]) -> tuple[Shape, ...] | None:
    """The shape of rectangles pooled to so many bins; input 1 gives so many numbers of each."""
    data, rectangles, pictures = shapes
    if data is None or rectangles is None or pictures is None or differ(rectangles[-1], numbers):
        return None
    if (len(data), len(rectangles), len(pictures)) != (4, 2, 1):
        return None
    count = same_size((rectangles[0], pictures[0]))
    return None if count is None else ((count, data[1], *bins),)
