"""Div of whole numbers, which OpenVINO's import rounds down."""
from __future__ import annotations

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import Operands, Reading, Scope
from clinfer.frontend.onnx.values import Value

_SIGNED = (3, 5, 6, 7)


def convert(node: Operands) -> list[Value]:
    """The ratio without its fraction."""
    x, y = node[0], node[1]
    down = x // y
    is_below = (down < 0) & ~(down * y).equals(x)
    return [is_below.where(down + 1, down)]


def _is_whole(node: Node, scope: Scope) -> bool:
    return any(scope.types.get(name) in _SIGNED for name in node.inputs)


MENDINGS = (Reading("Div", convert, _is_whole),)
