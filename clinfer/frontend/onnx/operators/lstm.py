"""LSTM with peepholes, which OpenVINO's import ignores."""
from __future__ import annotations

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import Operands, Reading, Scope
from clinfer.frontend.onnx.operators import recurrent_activations
from clinfer.frontend.onnx.scan import scan
from clinfer.frontend.onnx.values import Value, concat, filled, iota, op, vector

_SEQUENCE_LENS, _PEEPHOLES = 4, 7


def convert(node: Operands) -> list[Value]:
    """All results, the last hidden and the last cell state.

    Formulas: ONNX's text of the operator. Errors: ValueError for activations, clipping and coupled gates that are not
    the usual ones.
    """
    if not node.has(_PEEPHOLES):
        return recurrent_activations.convert(node)
    if node.attribute("clip") or node.number("input_forget", 0):
        raise ValueError("an LSTM with peepholes has neither `clip` nor `input_forget` here")
    if [name.lower() for name in node.attribute("activations", [])] not in ([], *(_USUAL * n for n in (1, 2))):
        raise ValueError("an LSTM with peepholes has the activations Sigmoid, Tanh and Tanh here")
    direction = node.text("direction", "forward")
    reversals = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
    runs = [_run(node, number, is_reverse) for number, is_reverse in enumerate(reversals)]
    return [concat([run[0].unsqueeze(1) for run in runs], 1),
            *(concat([run[part].unsqueeze(0) for run in runs], 0) for part in (1, 2))]


_USUAL = ["sigmoid", "tanh", "tanh"]


def _run(node: Operands, number: int, is_reverse: bool) -> list[Value]:
    """One direction: results [tokens, batch, hidden] and the last states."""
    x, hidden = node[0], node.number("hidden_size", 0)
    tokens, batch = x.count(0), x.size(1)
    lengths = node[_SEQUENCE_LENS].to("i64") if node.has(_SEQUENCE_LENS) else tokens.broadcast(batch)
    if is_reverse:
        x = _reversed(x, lengths)
    weights, recurrent = (_of_direction(node[index], number) for index in (1, 2))
    projected = x.matmul(weights, transpose_b=True)
    if node.has(3):
        own, other = _of_direction(node[3], number).pieces(2, 0)
        projected = projected + own + other
    peepholes = _of_direction(node[_PEEPHOLES], number).pieces(3, 0)
    zeros = filled(x.constant_like(0.0), concat([batch, vector(hidden)], 0))
    states = [_of_direction(node[index], number) if node.has(index) else zeros for index in (5, 6)]

    def step(states: list[Value], slices: list[Value], fixed: list[Value]) -> tuple[list[Value], list[Value]]:
        former, cell = states
        at, is_token = slices[0].squeeze(0), slices[1].squeeze(0)
        gates = (at + former.matmul(fixed[0], transpose_b=True)).pieces(4, 1)
        keep = (gates[2] + fixed[3] * cell).apply("sigmoid")
        new = keep * cell + (gates[0] + fixed[1] * cell).apply("sigmoid") * gates[3].apply("tanh")
        out = (gates[1] + fixed[2] * new).apply("sigmoid") * new.apply("tanh")
        return [is_token.where(out, former), is_token.where(new, cell)], [is_token.where(out, 0.0).unsqueeze(0)]
    is_token = (iota(tokens).reshape([-1, 1, 1]) < lengths.reshape([1, -1, 1]))
    (last, cell), (made,) = scan(step, states, [projected, is_token], [recurrent, *peepholes])
    return [_reversed(made, lengths) if is_reverse else made, last, cell]


def _of_direction(tensor: Value, number: int) -> Value:
    return tensor.slice(0, number, number + 1).squeeze(0)


def _reversed(x: Value, lengths: Value) -> Value:
    return Value(op.reverse_sequence(x.port, lengths.port, 1, 0))


def _is_needed(node: Node, scope: Scope) -> bool:
    has_peepholes = len(node.inputs) > _PEEPHOLES and node.inputs[_PEEPHOLES] != "" and not node.value("layout", 0)
    return has_peepholes or recurrent_activations.differ(node, scope)


MENDINGS = (Reading("LSTM", convert, _is_needed),)
