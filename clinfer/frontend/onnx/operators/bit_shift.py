"""BitShift to the right of numbers with sign, which OpenVINO's import does by dividing by a power of two."""
from __future__ import annotations

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import Operands, Reading, Scope
from clinfer.frontend.onnx.values import Value, op


def convert(node: Operands) -> list[Value]:
    """x / 2^y, rounded down. Shifts as wide as the type and negative ones leave the sign alone, as ONNX's reference
    does."""
    x, y = node[0], node[1]
    if not x.is_signed:
        return [Value(op.bitwise_right_shift(x.port, y.port))]
    is_inside = (y >= 0) & (y < x.bits - 1)
    power = 2.0 ** is_inside.where(y, 0).to("f64")
    return [is_inside.where(x // power.to(x.type), (x < 0).where(x.constant_like(-1), 0))]


def _is_right(node: Node, scope: Scope) -> bool:
    return node.value("direction") == "RIGHT" and scope.types.get(node.inputs[0], 0) in (0, 3, 5, 6, 7)


MENDINGS = (Reading("BitShift", convert, _is_right),)
