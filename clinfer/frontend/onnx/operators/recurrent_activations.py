"""GRU, LSTM and RNN whose two directions have different activations, of which OpenVINO's import takes the first ones
for both: refused."""
from __future__ import annotations

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import Operands, Reading, Scope
from clinfer.frontend.onnx.values import Value


def convert(node: Operands) -> list[Value]:
    """Always an error."""
    raise ValueError("both directions of a recurrent layer have the same activations here")


def differ(node: Node, scope: Scope) -> bool:
    """Whether two directions have different activations."""
    names = node.value("activations")
    if node.value("direction") != "bidirectional" or not isinstance(names, list):
        return False
    lowered = [str(name).lower() for name in names]
    return lowered[:len(lowered) // 2] != lowered[len(lowered) // 2:]


MENDINGS = tuple(Reading(op_type, convert, differ) for op_type in ("GRU", "RNN"))
