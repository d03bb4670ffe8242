"""The position-sensitive pooling primitives (OpenVINO PSROIPooling-1, DeformablePSROIPooling-1)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.errors import ClinferError
from clinfer.base.schema import Positive
from clinfer.base.shape import Shape, StaticShape, show
from clinfer.symbolic.dimensions import differ
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class PSROIPooling(Primitive):
    """Input 0 [n, c, h, w] pooled to [r, output_dim, group_size, group_size] within the rectangles of input 1 [r, 5].

    A rectangle is the number of its picture, x1, y1, x2, y2, which are multiplied by `spatial_scale`. `mode` "average":
    a bin is the mean of its pixels in the channel that belongs to it, (output channel, y, x); "bilinear": the mean of
    `spatial_bins_x` * `spatial_bins_y` places in as many parts of the rectangle, each in the channels (part, output
    channel), where corners are parts of the picture, 0 to 1.
    """

    output_dim: Positive = 1
    group_size: Positive = 1
    spatial_scale: float = 1.0
    mode: str = "average"
    spatial_bins_x: Positive = 1
    spatial_bins_y: Positive = 1
    op_type: ClassVar[str] = "PSROIPooling"

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data, rectangles, *others = shapes
        if data is None or rectangles is None or None in others or len(data) != 4 or len(rectangles) != 2:
            return None
        parts = self.spatial_bins_x * self.spatial_bins_y if self.mode == "bilinear" else self.group_size**2
        if differ(rectangles[1], 5) or (not others and differ(data[1], self.output_dim * parts)):
            return None
        return ((rectangles[0], self.output_dim, self.group_size, self.group_size),)


@dataclass(frozen=True)
class DeformablePSROIPooling(PSROIPooling):
    """The same with bins that input 2 [r, 2 * classes, part_size, part_size], where present, moves: by that part of the
    rectangle's sides, times `trans_std`. A bin is the mean of `spatial_bins_x` * `spatial_bins_y` places in it,
    interpolated, as far as they lie in the picture."""

    trans_std: float = 1.0
    part_size: Positive = 1
    op_type: ClassVar[str] = "DeformablePSROIPooling"

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        if len(shapes) < 3:
            return
        rois, channels, height, width = shapes[2]
        if rois != shapes[1][0] or channels < 2 or height < self.part_size or width < self.part_size:
            raise ClinferError("the offsets do not belong to the rectangles", where=self.where, values={
                "rectangles": show(shapes[1]), "offsets": show(shapes[2]), "part_size": self.part_size})
