"""Mod of floats by the sign of the divisor, which OpenVINO's import refuses."""
from __future__ import annotations

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import Operands, Reading, Scope
from clinfer.frontend.onnx.values import Value, op


def convert(node: Operands) -> list[Value]:
    """As NumPy's `mod`: the remainder of a division rounded down, with the sign of the divisor."""
    x, y = node[0], node[1]
    if not x.is_real:
        return [x % y]
    rest = Value(op.mod(x.port, y.port))
    rest = (y.apply("is_inf") & ~x.apply("is_inf")).where(x, rest)
    is_other = ~rest.equals(0) & ((rest < 0) ^ (y < 0))
    return [is_other.where(rest + y, rest.equals(0).where(y * 0, rest))]


def _is_floor(node: Node, scope: Scope) -> bool:
    return not node.value("fmod", 0) and scope.types.get(node.inputs[0], 1) in (1, 10, 11, 16)


MENDINGS = (Reading("Mod", convert, _is_floor),)
