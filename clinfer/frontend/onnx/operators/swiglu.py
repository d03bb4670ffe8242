"""SwiGLU: a gated unit, which OpenVINO's import does not know."""
from __future__ import annotations

from clinfer.frontend.onnx.operator import Operands, Reading
from clinfer.frontend.onnx.values import Value


def convert(node: Operands) -> list[Value]:
    """a * sigmoid(alpha * a) * b."""
    gate = node[0]
    return [gate * (gate * float(node.attribute("alpha", 1.0))).apply("sigmoid") * node[1]]


MENDINGS = (Reading("SwiGLU", convert),)
