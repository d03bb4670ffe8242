"""ReduceLogSum without axes that is to reduce nothing, of which OpenVINO's import leaves out the logarithm."""
from __future__ import annotations

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import Operands, Reading, Scope
from clinfer.frontend.onnx.values import Value, op


def convert(node: Operands) -> list[Value]:
    """The logarithms of the sums along axes; of the elements where there are no axes."""
    x, axes = node[0], node.get(1)
    if axes is None or axes.length(0) == 0:
        return [x.apply("log")]
    return [Value(op.reduce_sum(x.port, axes.port, bool(node.number("keepdims", 1)))).apply("log")]


def _is_needed(node: Node, scope: Scope) -> bool:
    return scope.version >= 18 and bool(node.value("noop_with_empty_axes", 0))


MENDINGS = (Reading("ReduceLogSum", convert, _is_needed),)
