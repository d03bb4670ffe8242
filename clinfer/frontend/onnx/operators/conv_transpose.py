"""ConvTranspose to sizes that are given, or as many times larger as its strides, for which OpenVINO's import pads
otherwise or, where sizes are open, not at all."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import Operands, Reading, Scope
from clinfer.frontend.onnx.values import Value, concat, op, vector

_SAME = ("SAME_UPPER", "SAME_LOWER")


def convert(node: Operands) -> list[Value]:
    """Everything that the filters touch, cut or filled up with zeros to the wanted sizes; the bias comes last.

    Formulas: `total_padding` in ONNX's text of the operator; no padding is negative at the begin.
    """
    filters = node[1]
    axes = range(filters.rank - 2)
    strides = list(node.attribute("strides", [1 for _ in axes]))
    dilations = list(node.attribute("dilations", [1 for _ in axes]))
    more = list(node.attribute("output_padding", [0 for _ in axes]))
    spans = [more[n] + (filters.static_length(n + 2) - 1) * dilations[n] + 1 for n in axes]
    is_upper = node.text("auto_pad", "NOTSET") == "SAME_UPPER"
    given = node.attribute("output_shape")
    wanted = None if given is None else list(given)[-len(axes):]
    totals = _totals(node[0], strides, spans, wanted)
    if totals is None:
        nothing = [0 for _ in axes]
        result = _fitted(_transposed(node, strides, dilations, nothing, nothing, more), vector(*wanted or ()), is_upper)
    else:
        cut = [max(total, 0) for total in totals]
        first = [_first(total, is_upper) for total in cut]
        last = [total - begin for total, begin in zip(cut, first, strict=True)]
        result = _transposed(node, strides, dilations, first, last, [more[n] + max(-totals[n], 0) for n in axes])
    bias = node.get(2)
    return [result if bias is None else result + bias.reshape([1, -1, *(1 for _ in axes)])]


def _totals(x: Value, strides: Sequence[int], spans: Sequence[int], wanted: Sequence[int] | None) -> list[int] | None:
    """How much is too much along each axis; None where it is not known yet, or too little for what was asked for."""
    if wanted is None:
        # Each size is the input's times the stride, whatever that is.
        return [span - stride for span, stride in zip(spans, strides, strict=True)]
    totals = [stride * (length - 1) + span - size for n, (stride, span, size) in enumerate(
        zip(strides, spans, wanted, strict=True)) if (length := x.length(n + 2)) is not None]
    return totals if len(totals) == len(wanted) and min(totals) >= 0 else None


def _first(total: Any, is_upper: bool) -> Any:
    """How much of what is too much lies at the begin, of numbers or of vectors."""
    return total // 2 if is_upper else total - total // 2


def _transposed(node: Operands, strides: list[int], dilations: list[int], begin: list[int], end: list[int],
                more: list[int]) -> Value:
    x, filters, groups = node[0], node[1], node.number("group", 1)
    if groups == 1:
        return Value(op.convolution_backprop_data(x.port, filters.port, strides, None, begin, end, dilations,
                                                  "explicit", more))
    inputs, *sizes = map(filters.static_length, range(filters.rank))
    apart = filters.reshape([groups, inputs // groups, *sizes])
    return Value(op.group_convolution_backprop_data(x.port, apart.port, strides, None, begin, end, dilations,
                                                    "explicit", more))


def _fitted(whole: Value, wanted: Value, is_upper: bool) -> Value:
    """Cut, or filled up with zeros at the end."""
    sizes = whole.shape().slice(0, 2)
    total = (sizes - wanted).at_least(0)
    first = _first(total, is_upper)
    beside = vector(0, 0)
    return Value(op.pad(whole.port, concat([beside, -first], 0).port,
                        concat([beside, wanted - sizes + first], 0).port, "constant", whole.constant_like(0.0).port))


def _is_needed(node: Node, scope: Scope) -> bool:
    return node.value("output_shape") is not None or node.value("auto_pad", "NOTSET") in _SAME


MENDINGS = (Reading("ConvTranspose", convert, _is_needed),)
