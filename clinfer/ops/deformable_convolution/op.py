"""What OpenVINO's DeformableConvolution-1 and -8 are made of: SampleTaps, then a convolution with filters of 1 x 1."""
from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.schema import Positive
from clinfer.base.shape import ANY, Shape, show
from clinfer.ops.convolution.op import Convolution, GroupConvolution
from clinfer.ops.operation import as_field
from clinfer.ops.reshape import Reshape
from clinfer.symbolic.dimensions import differ
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Constant, Port, Primitive, SourceNode

_I64 = ElementType.of("i64")


@dataclass(frozen=True)
class SampleTaps(Primitive):
    """What the taps of filters see of input 0 [n, c, h, w], as channels: [n, c * taps, rows, columns].

    Input 1 [n, groups * taps * 2, rows, columns] moves each tap along y and x, alike for the channels of each of
    `deformable_group` groups; input 2 [n, groups * taps, rows, columns], where present, is a factor. `window` is the
    size of a filter. Pixels are interpolated. A tap outside of the picture sees 0; with `bilinear_interpolation_pad`
    only from a pixel beyond the edge on, up to which it fades out.
    """

    strides: tuple[Positive, Positive] = (1, 1)
    dilations: tuple[Positive, Positive] = (1, 1)
    pads_begin: tuple[int, int] = (0, 0)
    pads_end: tuple[int, int] = (0, 0)
    auto_pad: str = "explicit"
    window: tuple[Positive, Positive] = (1, 1)
    deformable_group: Positive = 1
    bilinear_interpolation_pad: bool = False

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        data, offsets = shapes[:2]
        if data is None or offsets is None:
            return ((ANY,) * 4,)
        taps = prod(self.window)
        if differ(offsets[1], 2 * taps * self.deformable_group) or differ(data[1] % self.deformable_group, 0):
            raise ClinferError("the offsets do not belong to the data and the filters", where=self.where, values={
                "data": show(data), "offsets": show(offsets), "filter": self.window, "groups": self.deformable_group})
        factors = shapes[2] if len(shapes) > 2 else None
        wanted = (data[0], taps * self.deformable_group, *offsets[2:])
        if differ(offsets[0], data[0]) or (factors is not None and any(map(differ, factors, wanted))):
            raise ClinferError("offsets or factors do not belong to the data", where=self.where, values={
                "data": show(data), "offsets": show(offsets), "factors": show(factors or ())})
        return ((data[0], data[1] * taps, *offsets[2:]),)

    def pad(self, axis: int, size: int) -> int:
        """The elements before a spatial axis of that size."""
        like = Convolution("", strides=self.strides, dilations=self.dilations, pads_begin=self.pads_begin,
                           pads_end=self.pads_end, auto_pad=self.auto_pad)
        return like.pads(axis, size, self.window[axis])[0]


def convert_deformable_convolution(node: SourceNode) -> tuple[Primitive, ...]:
    """The taps, the filters [o, i, h, w] as [o, i * taps, 1, 1] or per group, and the convolution."""
    filters = node.input_shapes[2]
    if filters is None or not all(isinstance(size, int) for size in filters):
        raise ClinferError("DeformableConvolution needs filters of a known shape", where=f"layer {node.name!r}",
                           values={"filters": "of any rank" if filters is None else show(filters)})
    outputs, inputs, *window = (int(size) for size in filters)  # type: ignore[arg-type]
    group = int(node.attributes.get("group", 1))
    names = ("strides", "dilations", "pads_begin", "pads_end", "auto_pad", "deformable_group",
             "bilinear_interpolation_pad")
    given = {name: as_field(node.attributes[name]) for name in names if name in node.attributes}
    taps = SampleTaps(f"{node.id}/taps", (*node.inputs[:2], *node.inputs[3:]), origin=node.name,
                      window=(window[0], window[1]), **given)
    sizes = [outputs, inputs * prod(window), 1, 1]
    if group > 1:
        sizes = [group, outputs // group, *sizes[1:]]
    pattern = Constant(f"{node.id}/sizes", value=np.array(sizes, np.int64), element_type=_I64)
    weights = Reshape(f"{node.id}/weights", (node.inputs[2], Port(pattern.id)), origin=node.name)
    kind = Convolution if group == 1 else GroupConvolution
    product = kind(node.id, (Port(taps.id), Port(weights.id)), origin=node.name, strides=(1, 1), dilations=(1, 1),
                   pads_begin=(0, 0), pads_end=(0, 0))
    return taps, pattern, weights, product
