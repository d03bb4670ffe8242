"""From OpenVINO's recurrent operations to a matrix product over all steps and the steps themselves."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.ops.matmul.op import MatMul
from clinfer.ops.recurrent.op import Recurrence
from clinfer.ops.reshape.op import Unsqueeze
from clinfer.ops.transpose.op import Transpose
from clinfer.topology import Constant, Port, Primitive, SourceNode

_DEFAULTS = {"lstm": ("sigmoid", "tanh", "tanh"), "gru": ("sigmoid", "tanh"), "rnn": ("tanh",)}
KNOWN = ("sigmoid", "tanh", "relu")


def convert_sequence(node: SourceNode) -> tuple[Primitive, ...]:
    """X [B, T, I] gets an axis for the directions, whose weights W [D, G*H, I] then broadcast."""
    cell = _cell(node)
    x, hidden, *states, lengths, w, r, b = _take(node, 7 if cell == "lstm" else 6)
    axis = _integers(f"{node.id}/axis", [1], node.name)
    rows = Unsqueeze(f"{node.id}/rows", (x, Port(axis.id)), origin=node.name)
    return axis, rows, *_recurrence(node, Port(rows.id), w, r, (b, hidden, *states, lengths), rank=3)


def convert_cell(node: SourceNode) -> tuple[Primitive, ...]:
    """One step: X [B, I], W [G*H, I]."""
    x, hidden, *states, w, r, b = _take(node, 6 if _cell(node) == "lstm" else 5)
    return _recurrence(node, x, w, r, (b, hidden, *states), rank=2)


def _recurrence(node: SourceNode, x: Port, w: Port, r: Port, rest: tuple[Port, ...],
                rank: int) -> tuple[Primitive, ...]:
    """The projection, the recurrent weights with the gates last, and the steps."""
    projected = MatMul(f"{node.id}/projected", (x, w), origin=node.name, transpose_b=True)
    order = _integers(f"{node.id}/order", [*range(rank - 2), rank - 1, rank - 2], node.name)
    weights = Transpose(f"{node.id}/weights", (r, Port(order.id)), origin=node.name)
    steps = Recurrence(node.id, (Port(projected.id), Port(weights.id), *rest), origin=node.name,
                       is_step=rank == 2, **_attributes(node))
    return projected, order, weights, steps


def _attributes(node: SourceNode) -> dict[str, Any]:
    cell, given = _cell(node), node.attributes
    activations = tuple(name.lower() for name in given.get("activations", ())) or _DEFAULTS[cell]
    unknown = sorted(set(activations) - set(KNOWN))
    if unknown or len(activations) != len(_DEFAULTS[cell]):
        raise ClinferError(f"{node.type_name} with these activations is not supported", where=f"layer {node.name!r}",
                           values={"activations": activations, "supported": KNOWN})
    return {"cell": cell, "hidden_size": int(given["hidden_size"]), "direction": given.get("direction", "forward"),
            "linear_before_reset": bool(given.get("linear_before_reset", False)), "clip": float(given.get("clip", 0)),
            "activations": activations}


def _cell(node: SourceNode) -> str:
    return node.type_name.removesuffix("Sequence").removesuffix("Cell").lower()


def _take(node: SourceNode, count: int) -> tuple[Port, ...]:
    """The inputs, which must be that many: the LSTM of opset1 had peepholes."""
    if len(node.inputs) != count:
        raise ClinferError(f"{node.type_name} of this version is not supported", where=f"layer {node.name!r}",
                           values={"opset": node.opset, "inputs": len(node.inputs), "expected": count})
    return node.inputs


def _integers(id: str, values: list[int], origin: str) -> Constant:
    return Constant(id, origin=origin, value=np.array(values, np.int64), element_type=ElementType.of("i64"))
