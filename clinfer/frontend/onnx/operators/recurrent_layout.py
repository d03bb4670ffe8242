"""GRU, LSTM and RNN with the batch first, which OpenVINO's import ignores: Transpose around the operator instead."""
from __future__ import annotations

from collections.abc import Sequence

from clinfer.frontend.onnx.graph import Attribute, Node
from clinfer.frontend.onnx.operator import Rewriting, Scope

_READ = {0: [1, 0, 2], 5: [1, 0, 2], 6: [1, 0, 2]}
"""Orders of axes of input, first hidden state and first cell state."""
_MADE = {0: [2, 0, 1, 3], 1: [1, 0, 2], 2: [1, 0, 2]}
"""Orders of axes of all results, last hidden state and last cell state."""


def rewrite(node: Node, scope: Scope) -> Sequence[Node] | None:
    """The operator with the tokens first."""
    if node.value("layout", 0) != 1 or not node.own_name():
        return None
    del node.attributes["layout"]
    own, before, after = node.own_name(), [], []
    for index, order in _READ.items():
        if index < len(node.inputs) and node.inputs[index]:
            name = f"{node.inputs[index]}/tokens_first/{own}"
            before.append(_transpose(node.inputs[index], name, order))
            node.inputs[index] = name
    for index, order in _MADE.items():
        if index < len(node.outputs) and node.outputs[index]:
            name = f"{node.outputs[index]}/tokens_first"
            after.append(_transpose(name, node.outputs[index], order))
            node.outputs[index] = name
    return [*before, node, *after]


def _transpose(source: str, target: str, order: list[int]) -> Node:
    return Node("Transpose", [source], [target], {"perm": Attribute.of("perm", order)})


MENDINGS = tuple(Rewriting(op_type, rewrite) for op_type in ("GRU", "LSTM", "RNN"))
