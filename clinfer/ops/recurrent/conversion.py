"""From OpenVINO's recurrent operations to a matrix product over all steps and the steps themselves."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError, UnsupportedError
from clinfer.ops.matmul.op import MatMul
from clinfer.ops.recurrent.op import Recurrence
from clinfer.ops.reshape.op import Reshape
from clinfer.ops.transpose.op import Transpose
from clinfer.topology import Constant, Port, Primitive, SourceNode

_DEFAULTS = {"lstm": ("sigmoid", "tanh", "tanh"), "gru": ("sigmoid", "tanh"), "rnn": ("tanh",)}
KNOWN = ("sigmoid", "tanh", "relu", "hardsigmoid")
_HARD_SIGMOID = {"activations_alpha": 0.2, "activations_beta": 0.5}
"""The slope and the middle of hardsigmoid, which are constants of the kernels."""


def convert_sequence(node: SourceNode) -> tuple[Primitive, ...]:
    """X [B, T, I], W [D, G*H, I], R [D, G*H, H]."""
    lstm = _cell(node) == "lstm"
    x, hidden, *states, lengths, w, r, b = _take(node, 7 if lstm else 6)
    return _recurrence(node, x, w, r, (b, hidden, *states, lengths), is_step=False)


def convert_cell(node: SourceNode) -> tuple[Primitive, ...]:
    """One step: X [B, I], W [G*H, I], R [G*H, H]; of the LSTM of opset1 also peepholes [3*H], which are zeros."""
    if _cell(node) == "lstm" and len(node.inputs) == 7:
        node = replace(node, inputs=_without_peepholes(node))
    x, hidden, *states, w, r, b = _take(node, 6 if _cell(node) == "lstm" else 5)
    return _recurrence(node, x, w, r, (b, hidden, *states), is_step=True)


def _without_peepholes(node: SourceNode) -> tuple[Port, ...]:
    *inputs, _ = node.inputs
    peepholes = node.constants.get(6)
    if peepholes is None or peepholes.any() or node.attributes.get("input_forget"):
        raise UnsupportedError("LSTMCell with peepholes, or whose input gate is the rest of its forget gate, is not "
                               "supported", where=f"layer {node.name!r}",
                               hint="write it as the operations that it consists of")
    return tuple(inputs)


def _recurrence(node: SourceNode, x: Port, w: Port, r: Port, rest: tuple[Port, ...],
                is_step: bool) -> tuple[Primitive, ...]:
    """The projection of all steps and directions as one product, the recurrent weights with the gates last, and the
    steps."""
    steps = Recurrence(node.id, (), origin=node.name, is_step=is_step, **_attributes(node))
    gates, hidden, directions = steps.gates, steps.hidden_size, steps.directions
    rows = _integers(f"{node.id}/rows", [directions * gates * hidden, -1], node.name)
    joined = Reshape(f"{node.id}/joined", (w, Port(rows.id)), origin=node.name)
    projected = MatMul(f"{node.id}/projected", (x, Port(joined.id)), origin=node.name, transpose_b=True)
    sizes = _integers(f"{node.id}/sizes", [directions, gates, hidden, hidden], node.name)
    parted = Reshape(f"{node.id}/parted", (r, Port(sizes.id)), origin=node.name)
    order = _integers(f"{node.id}/order", [0, 3, 1, 2], node.name)
    weights = Transpose(f"{node.id}/weights", (Port(parted.id), Port(order.id)), origin=node.name)
    return rows, joined, projected, sizes, parted, order, weights, replace(
        steps, inputs=(Port(projected.id), Port(weights.id), *rest))


def _attributes(node: SourceNode) -> dict[str, Any]:
    cell, given = _cell(node), node.attributes
    activations = tuple(name.lower() for name in given.get("activations", ())) or _DEFAULTS[cell]
    one_way = activations[:len(_DEFAULTS[cell])]
    if given.get("direction") == "bidirectional" and activations == 2 * one_way:
        # ONNX lists those of each direction.
        activations = one_way
    is_unknown = not set(activations) <= set(KNOWN) or len(activations) != len(_DEFAULTS[cell])
    if "hardsigmoid" in activations:
        is_unknown |= any(abs(value - usual) > 1e-6 for name, usual in _HARD_SIGMOID.items()
                          for value in given.get(name, ()))
    if is_unknown:
        raise ClinferError(f"{node.type_name} with these activations is not supported", where=f"layer {node.name!r}",
                           values={"activations": activations, "supported": KNOWN,
                                   **{name: given[name] for name in _HARD_SIGMOID if given.get(name)}})
    return {"cell": cell, "hidden_size": int(given["hidden_size"]), "direction": given.get("direction", "forward"),
            "linear_before_reset": bool(given.get("linear_before_reset", False)), "clip": float(given.get("clip", 0)),
            "activations": activations}


def _cell(node: SourceNode) -> str:
    return node.type_name.removesuffix("Sequence").removesuffix("Cell").lower()


def _take(node: SourceNode, count: int) -> tuple[Port, ...]:
    """The inputs, which must be that many."""
    if len(node.inputs) != count:
        raise ClinferError(f"{node.type_name} of this version is not supported", where=f"layer {node.name!r}",
                           values={"opset": node.opset, "inputs": len(node.inputs), "expected": count})
    return node.inputs


def _integers(id: str, values: list[int], origin: str) -> Constant:
    return Constant(id, origin=origin, value=np.array(values, np.int64), element_type=ElementType.of("i64"))
