"""Split into more parts than there are elements, which OpenVINO's import refuses; in branches never taken, mostly."""
from __future__ import annotations

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import Operands, Reading, Scope
from clinfer.frontend.onnx.values import Value, iota, op, scalar, vector


def convert(node: Operands) -> list[Value]:
    """Parts of the length divided by their number, rounded up; the last ones are shorter, or empty."""
    x, axis, count = node[0], node.number("axis", 0), node.output_count
    known = x.length(axis)
    if known is None:
        length = x.count(axis)
        longest = (length + (count - 1)) // count
        starts = (iota(scalar(count)) * longest).at_most(length)
        lengths = (starts + longest).at_most(length) - starts
    elif known % count == 0:
        return x.pieces(count, axis)
    else:
        most = -(-known // count)
        lengths = vector(*(max(0, min(known - most * part, most)) for part in range(count)))
    return [Value(port) for port in op.variadic_split(x.port, scalar(axis).port, lengths.port).outputs()]


def _counts_outputs(node: Node, scope: Scope) -> bool:
    return node.value("num_outputs") is not None and len([name for name in node.inputs if name]) == 1


MENDINGS = (Reading("Split", convert, _counts_outputs),)
