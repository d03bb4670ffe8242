"""Dropout that an input may switch to training, which OpenVINO's import refuses; and that of an input of the model, the
name of which it drops."""
from __future__ import annotations

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import Operands, Reading, Scope
from clinfer.frontend.onnx.values import Value, filled, op, scalar


def convert(node: Operands) -> list[Value]:
    """While it trains, random elements become zero and the others larger; and which were kept."""
    if not node.has(2):
        return [node[0].like(node[0]), filled(scalar(True, "boolean"), node[0].shape())]
    x, trains = node[0], node[2].reshape([])
    ratio = node[1].to("f32").reshape([]) if node.has(1) else scalar(0.5, "f32")
    drawn = Value(op.random_uniform(x.shape().port, scalar(0.0, "f32").port, scalar(1.0, "f32").port, "f32",
                                    0, node.number("seed", 0)))
    keeps = (drawn >= ratio) | ~trains
    factor = trains.where(1.0 / (1.0 - ratio), 1.0).like(x)
    return [keeps.where(x * factor, 0.0), keeps | filled(scalar(False, "boolean"), x.shape())]


def _is_needed(node: Node, scope: Scope) -> bool:
    switch = node.inputs[2] if len(node.inputs) > 2 else ""
    return switch not in scope.constants if switch else scope.version >= 7 and scope.is_given(node.inputs[0])


MENDINGS = (Reading("Dropout", convert, _is_needed),)
