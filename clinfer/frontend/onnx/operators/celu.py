"""Celu of types other than f32, in which OpenVINO's import mixes types."""
from __future__ import annotations

from clinfer.frontend.onnx.operator import Operands, Reading
from clinfer.frontend.onnx.values import Value


def convert(node: Operands) -> list[Value]:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    x, alpha = node[0], float(node.attribute("alpha", 1.0))
    return [x.at_least(0) + (((x / alpha).apply("exp") - 1) * alpha).at_most(0)]


MENDINGS = (Reading("Celu", convert),)
