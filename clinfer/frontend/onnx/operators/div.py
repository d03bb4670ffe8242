"""Div of whole numbers, which OpenVINO's import rounds down."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import Operands, Reading, Scope
from clinfer.frontend.onnx.values import Value

_SIGNED = (3, 5, 6, 7)
_I64 = 7
_OF_SIZES = ("Shape", "Size")
_MOVES = ("Cast", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Unsqueeze")
_KEEP_TYPE = (*_MOVES, "Abs", "Add", "Concat", "Div", "Expand", "Max", "Min", "Mod", "Mul", "Neg", "Sub", "Transpose")


def convert(node: Operands) -> list[Value]:
    """The ratio without its fraction."""
    from openvino.utils.node_factory import NodeFactory
    attributes = {"m_pythondiv": False, "auto_broadcast": "numpy"}
    return [Value(NodeFactory("opset1").create("Divide", [node[0].port, node[1].port], attributes))]


def _is_needed(node: Node, scope: Scope) -> bool:
    return any(_type_of(name, scope) in _SIGNED for name in node.inputs) and not _is_size(node.inputs[0], scope)


def _is_size(name: str, scope: Scope) -> bool:
    """Whether a value is a size of a tensor: OpenVINO's own converter leaves shape arithmetic in the form that other
    stages know, and rounding is the same for numbers that are not below zero, as long as the divisor is above it, as
    divisors of sizes are taken to be."""
    return any(made is not None and made.op_type in _OF_SIZES for _, made in _sources(name, _MOVES, scope))


def _type_of(name: str, scope: Scope) -> int:
    """ONNX's number of the type of a value: the one declared of it, or of what it was made of by operators that keep
    types; 0: not known."""
    for source, made in _sources(name, _KEEP_TYPE, scope):
        if source in scope.types:
            return scope.types[source]
        if made is not None and made.op_type in _OF_SIZES:
            return _I64
        cast = made.value("to") if made is not None and made.op_type == "Cast" else None
        if isinstance(cast, int):
            return cast
    return 0


def _sources(name: str, operators: Sequence[str], scope: Scope) -> Iterator[tuple[str, Node | None]]:
    """A value with the node that makes it, then the first of what that reads, and so on, through such operators."""
    seen = set()
    while name not in seen:
        seen.add(name)
        made = scope.nodes.get(name)
        yield name, made
        if made is not None and made.op_type in operators and made.inputs:
            name = made.inputs[0]


MENDINGS = (Reading("Div", convert, _is_needed),)
