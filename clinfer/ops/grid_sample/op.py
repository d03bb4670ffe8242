"""The GridSample primitive (OpenVINO GridSample-9)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.errors import ClinferError
from clinfer.base.shape import Shape, StaticShape, empty, show
from clinfer.symbolic.dimensions import differ, same_size
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class GridSample(Primitive):
    """Input 0 [n, c, h, w] sampled at the places in input 1 [n, h', w', 2]: x, then y, each from -1 to 1.

    -1 and 1 are the outer edges of the picture or, with `align_corners`, the centres of its outer pixels.
    `mode`: "bilinear", "bicubic" (with a = -0.75) or "nearest" (halves to the even pixel). `padding_mode`:
    what stands outside, "zeros", "border" or "reflection".
    """

    align_corners: bool = False
    mode: str = "bilinear"
    padding_mode: str = "zeros"
    op_type: ClassVar[str] = "GridSample"
    opset: ClassVar[str] = "opset9"

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data, grid = shapes
        if data is None or grid is None or len(data) != 4 or len(grid) != 4 or differ(grid[3], 2):
            return None
        batch = same_size((data[0], grid[0]))
        return None if batch is None else ((batch, data[1], *grid[1:3]),)

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        if self.padding_mode != "zeros" and 0 in shapes[0] and not empty(outputs):
            raise ClinferError("pictures without pixels have no border", where=self.where,
                               values={"pictures": show(shapes[0])})
