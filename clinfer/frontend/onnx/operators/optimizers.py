"""Adagrad, Adam and Momentum, which OpenVINO's import does not know: steps of training, for any number of tensors."""
from __future__ import annotations

from clinfer.frontend.onnx.operator import Operands, Reading
from clinfer.frontend.onnx.values import Value

_DOMAIN = "ai.onnx.preview.training"


def convert_adagrad(node: Operands) -> list[Value]:
    """New tensors and sums of squared gradients."""
    rate = node[0] / (node[1].to("f32") * _number(node, "decay_factor", 0.0) + 1.0)
    made = []
    for x, gradient, squares in _groups(node, 3):
        gradient = gradient + x * _number(node, "norm_coefficient", 0.0)
        squares = squares + gradient * gradient
        made.append([x - rate * gradient / (squares.apply("sqrt") + _number(node, "epsilon", 1e-6)), squares])
    return _by_kind(made)


def convert_adam(node: Operands) -> list[Value]:
    """New tensors, averaged gradients and averaged squares."""
    alpha, beta = _number(node, "alpha", 0.9), _number(node, "beta", 0.999)
    steps = node[1].to("f32")
    is_later = steps > 0
    later = node[0] * (1.0 - beta ** steps).apply("sqrt") / is_later.where(1.0 - alpha ** steps, 1.0)
    rate = is_later.where(later, node[0])
    made = []
    for x, gradient, mean, squares in _groups(node, 4):
        gradient = gradient + x * _number(node, "norm_coefficient", 0.0)
        mean = mean * alpha + gradient * (1.0 - alpha)
        squares = squares * beta + gradient * gradient * (1.0 - beta)
        moved = x - rate * mean / (squares.apply("sqrt") + _number(node, "epsilon", 1e-6))
        made.append([moved * (1.0 - _number(node, "norm_coefficient_post", 0.0)), mean, squares])
    return _by_kind(made)


def convert_momentum(node: Operands) -> list[Value]:
    """New tensors and momenta."""
    rate, alpha = node[0], _number(node, "alpha", 0.0)
    beta = (node[1].to("f32") > 0).where(rate.constant_like(_number(node, "beta", 0.0)), 1.0)
    made = []
    for x, gradient, momentum in _groups(node, 3):
        gradient = gradient + x * _number(node, "norm_coefficient", 0.0)
        momentum = momentum * alpha + beta * gradient
        step = gradient + momentum * alpha if node.text("mode", "standard") == "nesterov" else momentum
        made.append([x - rate * step, momentum])
    return _by_kind(made)


def _number(node: Operands, name: str, default: float) -> float:
    return float(node.attribute(name, default))


def _groups(node: Operands, kinds: int) -> list[list[Value]]:
    """What belongs to each tensor: inputs behind the first two are all tensors, then all gradients, and so on."""
    count = (len(node) - 2) // kinds
    return [[node[2 + kind * count + number] for kind in range(kinds)] for number in range(count)]


def _by_kind(made: list[list[Value]]) -> list[Value]:
    return [values[kind] for kind in range(len(made[0])) for values in made]


MENDINGS = (Reading("Adagrad", convert_adagrad, domain=_DOMAIN), Reading("Adam", convert_adam, domain=_DOMAIN),
            Reading("Momentum", convert_momentum, domain=_DOMAIN))
