"""CausalConvWithState, which OpenVINO's import does not know."""
from __future__ import annotations

from clinfer.frontend.onnx.operator import Operands, Reading
from clinfer.frontend.onnx.values import Value, concat, filled, op, vector


def convert(node: Operands) -> list[Value]:
    """A convolution of each channel with what was before it, and the last positions for the next call."""
    x, weight = node[0], node[1]
    reach = weight.size(2) - 1
    past = node.get(2 + 1)
    if past is None:
        past = filled(x.constant_like(0), concat([x.shape().slice(0, 0, 2), reach], 0))
    line = concat([past, x], 2)
    by_channel = Value(op.group_convolution(line.port, weight.unsqueeze(1).port, [1], [0], [0], [1]))
    bias = node.get(2)
    if bias is not None:
        by_channel = by_channel + bias.reshape([1, -1, 1])
    if node.text("activation", "none") in ("silu", "swish"):
        by_channel = by_channel * by_channel.apply("sigmoid")
    return [by_channel, line.slice(2, line.size(2) - reach, vector(2**62))]


MENDINGS = (Reading("CausalConvWithState", convert),)
