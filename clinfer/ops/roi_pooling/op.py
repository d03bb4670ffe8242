"""The ROIPooling primitive (OpenVINO ROIPooling-2)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.schema import Positive
from clinfer.base.shape import Shape
from clinfer.symbolic.dimensions import differ
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive, SourceNode


@dataclass(frozen=True)
class ROIPooling(Primitive):
    """Input 0 [n, c, h, w] pooled to [r, c, *output_roi] within the rectangles of input 1 [r, 5].

    A rectangle is the number of its picture, x1, y1, x2, y2. `method` "max": the corners, times `spatial_scale` and
    rounded, are pixels of it; a bin is the largest of its pixels, 0 if it has none. "bilinear": corners are parts of
    the picture, 0 to 1; a bin is one place between them, interpolated, and 0 outside of the picture. Of a picture that
    does not exist all is 0.
    """

    output_roi: tuple[Positive, Positive] = (1, 1)
    spatial_scale: float = 1.0
    method: str = "max"
    op_type: ClassVar[str] = "ROIPooling"
    opset: ClassVar[str] = "opset2"

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data, rectangles = shapes
        if data is None or rectangles is None or len(data) != 4 or len(rectangles) != 2 or differ(rectangles[1], 5):
            return None
        return ((rectangles[0], data[1], *self.output_roi),)


def convert_roi_pooling(node: SourceNode) -> ROIPooling:
    """The sizes of the output have several names."""
    height, width = node.attributes["output_roi"]
    return ROIPooling(node.id, node.inputs, origin=node.name, output_roi=(int(height), int(width)),
                      spatial_scale=node.attributes["spatial_scale"], method=node.attributes["method"])
