"""DeformConv, which OpenVINO's import does not know."""
from __future__ import annotations

from clinfer.frontend.onnx.operator import Operands, Reading
from clinfer.frontend.onnx.values import Value, op


def convert(node: Operands) -> list[Value]:
    """A convolution whose taps are moved by offsets and weighed by a mask. Samples beyond the edge fade out."""
    x, weight, offset = node[0], node[1], node[2]
    axes = x.rank - 2
    pads = list(node.attribute("pads", [0] * 2 * axes))
    mask = node.get(4)
    made = Value(op.deformable_convolution(
        x.port, offset.port, weight.port, list(node.attribute("strides", [1] * axes)), pads[:axes], pads[axes:],
        list(node.attribute("dilations", [1] * axes)), None if mask is None else mask.port, "explicit",
        node.number("group", 1), node.number("offset_group", 1), True))
    bias = node.get(3)
    return [made if bias is None else made + bias.reshape([1, -1, *[1] * axes])]


MENDINGS = (Reading("DeformConv", convert),)
