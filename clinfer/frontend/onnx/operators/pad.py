"""Pad that goes round, which OpenVINO does not have."""
from __future__ import annotations

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import Operands, Reading, Scope
from clinfer.frontend.onnx.values import Value, iota, scalar


def convert(node: Operands) -> list[Value]:
    """Before the first element comes the last one, behind the last one the first. Errors: ValueError for axes that are
    no constants."""
    x, pads = node[0], node[1].to("i64")
    axes = list(range(x.rank))
    if node.has(3):
        known = node[3].constant
        if known is None:
            raise ValueError("the axes of Pad have to be known when the model is read")
        axes = [x.axis(int(axis)) for axis in known]
    for number, axis in enumerate(axes):
        before, after = (pads.gather(scalar(place), 0) for place in (number, number + len(axes)))
        length = x.count(axis)
        x = x.gather((iota(before + length + after) - before) % length, axis)
    return [x]


def _goes_round(node: Node, scope: Scope) -> bool:
    return node.value("mode") == "wrap"


MENDINGS = (Reading("Pad", convert, _goes_round),)
