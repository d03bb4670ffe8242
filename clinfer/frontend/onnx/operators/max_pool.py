"""MaxPool with rounding up, in which OpenVINO's import counts windows that begin in the padding."""
from __future__ import annotations

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import Operands, Reading, Scope
from clinfer.frontend.onnx.values import Value, op


def convert(node: Operands) -> list[Value]:
    """The largest of each window, and where it stands in the whole tensor."""
    kernel = list(node.attribute("kernel_shape"))
    axes = len(kernel)
    pads = list(node.attribute("pads", [0] * 2 * axes))
    pooled = op.max_pool(
        node[0].port, list(node.attribute("strides", [1] * axes)), list(node.attribute("dilations", [1] * axes)),
        pads[:axes], pads[axes:], kernel, "ceil_torch", "explicit", "i64", 0)
    return [Value(port) for port in pooled.outputs()]


def _rounds_up(node: Node, scope: Scope) -> bool:
    return (bool(node.value("ceil_mode", 0)) and not node.value("storage_order", 0)
            and node.value("auto_pad", "NOTSET") == "NOTSET")


MENDINGS = (Reading("MaxPool", convert, _rounds_up),)
