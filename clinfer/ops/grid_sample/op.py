"""The GridSample primitive (OpenVINO GridSample-9)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape, empty, show
from clinfer.base.shape_inference import Values
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

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        if self.padding_mode != "zeros" and 0 in shapes[0] and not empty(outputs):
            raise ClinferError("pictures without pixels have no border", where=self.where,
                               values={"pictures": show(shapes[0])})
