"""STFT with a step that is not a constant, which OpenVINO's import refuses, or of all frequencies."""
from __future__ import annotations

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import Operands, Reading, Scope
from clinfer.frontend.onnx.values import Value, concat, filled, iota, op, vector


def convert(node: Operands) -> list[Value]:
    """[batch, frames, frequencies, 2] of a real signal [batch, samples, 1]."""
    signal, step = node[0], node[1].to("i64").reshape([])
    if signal.rank == 3:
        if signal.static_length(2) != 1:
            raise ValueError("the signal is complex; STFT reads real ones here")
        signal = signal.squeeze(2)
    size = node[3].to("i64").reshape([]) if node.has(3) else node[2].count(0)
    window = node[2] if node.has(2) else filled(signal.constant_like(1.0), size.reshape([1]))
    found = Value(op.stft(signal.port, window.port, size.port, step.port, False))
    if node.number("onesided", 1):
        return [found]
    places = iota(size)
    is_upper = places >= found.size(2)
    mirrored = found.gather(is_upper.where(size - places, places), 2)
    sign = is_upper.where(vector(-1.0, kind="f32"), 1.0).like(found).reshape([-1, 1])
    return [mirrored * concat([sign.apply("abs"), sign], 1)]


def _is_needed(node: Node, scope: Scope) -> bool:
    return node.inputs[1] not in scope.constants or not node.value("onesided", 1)


MENDINGS = (Reading("STFT", convert, _is_needed),)
