"""The Col2Im primitive (OpenVINO Col2Im-15)."""
from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from clinfer.base.schema import Positive
from clinfer.base.shape import Shape
from clinfer.ops.shared.spatial import reach
from clinfer.symbolic.dimensions import is_open
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class Col2Im(Primitive):
    """Images of the size that input 1 gives, summed up from the sliding blocks (of input 2's size) in input 0.

    Input 0 is [channels * block elements, blocks] or has a batch before that; the output has channels, height, width.
    """

    strides: tuple[Positive, Positive] = (1, 1)
    dilations: tuple[Positive, Positive] = (1, 1)
    pads_begin: tuple[int, int] = (0, 0)
    pads_end: tuple[int, int] = (0, 0)
    op_type: ClassVar[str] = "Col2Im"
    opset: ClassVar[str] = "opset15"

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (1, 2)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data = shapes[0]
        if data is None or len(data) not in (2, 3) or is_open(data) or len(values) < 2:
            return None
        size, block = (tuple(values[i].reshape(-1).tolist()) for i in (1, 2))
        if len(size) != 2 or len(block) != 2 or any(each < 1 for each in (*size, *block)):
            return None
        spans = [whole + before + behind - reach(length, rate) for whole, length, rate, before, behind
                 in zip(size, block, self.dilations, self.pads_begin, self.pads_end, strict=True)]
        blocks = prod(span // stride + 1 for span, stride in zip(spans, self.strides, strict=True))
        *batch, rows, columns = data
        if any(span < 0 for span in spans) or rows % prod(block) or columns != blocks:
            return None
        return ((*batch, rows // prod(block), *size),)
