"""Div of whole numbers, which OpenVINO's import rounds down."""
from __future__ import annotations

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import Operands, Reading, Scope
from clinfer.frontend.onnx.values import Value

_SIGNED = (3, 5, 6, 7)
_MOVES = ("Cast", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Unsqueeze")


def convert(node: Operands) -> list[Value]:
    """The ratio without its fraction."""
    from openvino.utils.node_factory import NodeFactory
    attributes = {"m_pythondiv": False, "auto_broadcast": "numpy"}
    return [Value(NodeFactory("opset1").create("Divide", [node[0].port, node[1].port], attributes))]


def _is_needed(node: Node, scope: Scope) -> bool:
    return any(scope.types.get(name) in _SIGNED for name in node.inputs) and not _is_size(node.inputs[0], scope)


def _is_size(name: str, scope: Scope) -> bool:
    """Whether a value is a size of a tensor, which is not below zero: rounding is the same then, and OpenVINO's own
    converter leaves shape arithmetic in the form that other stages know."""
    made = scope.nodes.get(name)
    while made is not None and made.op_type in _MOVES:
        made = scope.nodes.get(made.inputs[0])
    return made is not None and made.op_type in ("Shape", "Size")


MENDINGS = (Reading("Div", convert, _is_needed),)
