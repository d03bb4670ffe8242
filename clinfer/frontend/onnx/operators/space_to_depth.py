"""SpaceToDepth in the order of columns, rows and depth, which OpenVINO's import ignores."""
from __future__ import annotations

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import Operands, Reading, Scope
from clinfer.frontend.onnx.values import Value, op


def convert(node: Operands) -> list[Value]:
    """Blocks of pixels become channels beside those of their own channel."""
    return [Value(op.space_to_depth(node[0].port, "depth_first", node.number("blocksize", 1)))]


def _is_by_channel(node: Node, scope: Scope) -> bool:
    return node.value("mode") == "CRD"


MENDINGS = (Reading("SpaceToDepth", convert, _is_by_channel),)
