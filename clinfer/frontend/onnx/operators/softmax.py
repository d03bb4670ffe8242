"""Softmax before opset 13, which OpenVINO's import takes along its axis alone."""
from __future__ import annotations

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import Operands, Reading, Scope
from clinfer.frontend.onnx.values import Value, concat


def convert(node: Operands) -> list[Value]:
    """Over all elements from the axis on."""
    x, axis = node[0], node.number("axis", 1)
    if x.has_known_rank:
        axis = x.axis(axis)
        if all(x.length(behind) == 1 for behind in range(axis + 1, x.rank)):
            return [x.softmax(axis)]
    sizes = x.shape()
    flat = concat([part.prod(0, keep=True) for part in (sizes.slice(0, 0, axis), sizes.slice(0, axis))], 0)
    return [x.reshape(flat).softmax(1).reshape(sizes)]


def _is_needed(node: Node, scope: Scope) -> bool:
    return scope.version < 13 and node.value("axis", 1) != -1


MENDINGS = (Reading("Softmax", convert, _is_needed),)
