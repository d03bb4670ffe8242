"""ConvTranspose to sizes that are given, or as many times larger as its strides, for which OpenVINO's import pads
otherwise or, where sizes are open, not at all."""
from __future__ import annotations

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import Operands, Reading, Scope
from clinfer.frontend.onnx.values import Value, concat, op, vector

_SAME = ("SAME_UPPER", "SAME_LOWER")
_END = 2**31 - 1


def convert(node: Operands) -> list[Value]:
    """Everything that the filters touch, cut or filled up with zeros to the wanted sizes; the bias comes last.

    Formulas: `total_padding` in ONNX's text of the operator; no padding is negative at the begin.
    """
    x, filters = node[0], node[1]
    axes = filters.rank - 2
    strides = list(node.attribute("strides", [1] * axes))
    whole = _whole(node, x, filters, axes, strides)
    sizes = whole.shape().slice(0, 2, _END)
    given = node.attribute("output_shape")
    wanted = x.shape().slice(0, 2, _END) * vector(*strides) if given is None else vector(*list(given)[-axes:])
    total = (sizes - wanted).at_least(0)
    less = total // 2
    first = less if node.text("auto_pad", "NOTSET") == "SAME_UPPER" else total - less
    beside = vector(0, 0)
    ends = concat([beside, wanted - sizes + first], 0)
    result = Value(op.pad(whole.port, concat([beside, -first], 0).port, ends.port, "constant",
                          whole.constant_like(0.0).port))
    bias = node.get(2)
    return [result if bias is None else result + bias.reshape([1, -1, *[1] * axes])]


def _whole(node: Operands, x: Value, filters: Value, axes: int, strides: list[int]) -> Value:
    """Everything that the filters touch."""
    groups, nothing = node.number("group", 1), [0] * axes
    dilations = list(node.attribute("dilations", [1] * axes))
    more = list(node.attribute("output_padding", nothing))
    if groups == 1:
        return Value(op.convolution_backprop_data(x.port, filters.port, strides, None, nothing, nothing, dilations,
                                                  "explicit", more))
    inputs = filters.static_length(0)
    apart = filters.reshape([groups, inputs // groups, *(filters.static_length(axis) for axis in range(1, axes + 2))])
    return Value(op.group_convolution_backprop_data(x.port, apart.port, strides, None, nothing, nothing, dilations,
                                                    "explicit", more))


def _is_needed(node: Node, scope: Scope) -> bool:
    return node.value("output_shape") is not None or node.value("auto_pad", "NOTSET") in _SAME


MENDINGS = (Reading("ConvTranspose", convert, _is_needed),)
