"""Dropout that an input may switch to training, which OpenVINO's import refuses."""
from __future__ import annotations

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import Operands, Reading, Scope
from clinfer.frontend.onnx.values import Value, filled, op, scalar


def convert(node: Operands) -> list[Value]:
    """While it trains, random elements become zero and the others larger; and which were kept."""
    x, trains = node[0], node[2].reshape([])
    ratio = node[1].to("f32").reshape([]) if node.has(1) else scalar(0.5, "f32")
    drawn = Value(op.random_uniform(x.shape().port, scalar(0.0, "f32").port, scalar(1.0, "f32").port, "f32",
                                    0, node.number("seed", 0)))
    keeps = (drawn >= ratio) | ~trains
    factor = trains.where(1.0 / (1.0 - ratio), 1.0).like(x)
    return [keeps.where(x * factor, 0.0), keeps | filled(scalar(False, "boolean"), x.shape())]


def _may_train(node: Node, scope: Scope) -> bool:
    return len(node.inputs) > 2 and node.inputs[2] != "" and node.inputs[2] not in scope.constants


MENDINGS = (Reading("Dropout", convert, _may_train),)
