"""The ReorgYolo primitive (OpenVINO ReorgYolo-2)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

from clinfer.base.errors import ClinferError
from clinfer.base.schema import Positive
from clinfer.base.shape import Shape, StaticShape, show
from clinfer.symbolic.dimensions import is_open
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive, SourceNode


@dataclass(frozen=True)
class ReorgYolo(Primitive):
    """Input 0 [n, c, h, w] as [n, c * stride^2, h / stride, w / stride].

    The data is read as [n, c / stride^2, h * stride, w * stride]. Blocks of stride x stride of that give [n, c, h, w],
    where the place in the block is the slower part of the channel; these elements in their order are the output.
    """

    stride: tuple[Positive] = (1,)
    op_type: ClassVar[str] = "ReorgYolo"
    opset: ClassVar[str] = "opset2"

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data, (stride,) = shapes[0], self.stride
        if data is None or len(data) != 4 or is_open(data):
            return None
        batch, channels, height, width = cast("StaticShape", data)
        if height % stride or width % stride or channels < stride * stride:
            return None
        return ((batch, channels * stride * stride, height // stride, width // stride),)

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        if shapes[0][1] % self.stride[0] ** 2:
            raise ClinferError("the channels are no multiple of the stride's square", where=self.where,
                               values={"data": show(shapes[0]), "stride": self.stride[0]})


def convert_reorg_yolo(node: SourceNode) -> ReorgYolo:
    """Of a list of strides the first one counts, as in OpenVINO."""
    return ReorgYolo(node.id, node.inputs, origin=node.name, stride=(int(node.attributes["stride"][0]),))
