"""Tensors whose elements are bytes less a zero point that is computed when the model runs."""
from __future__ import annotations

from typing import NamedTuple

from clinfer.ops.convert import Convert
from clinfer.ops.eltwise import Eltwise
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Port

_MOST = 255


class Bytes(NamedTuple):
    """The elements are those of `values`, whole numbers of 0 to 255, less the one of `zero_point`, which is one of them
    (None: 0)."""

    values: Port
    zero_point: Port | None


def integers_of_bytes(graph: Graph, context: BuildContext, port: Port) -> Bytes | None:
    """What a tensor of i32 is made of: a Convert of u8, perhaps less a zero point; None: of something else."""
    subtract = _eltwise(graph, port, "Subtract")
    values, zero_point = subtract.inputs if subtract else (port, None)
    source = _converted(graph, values, "u8")
    if source is None or not (zero_point is None or _is_byte(graph, context, zero_point)):
        return None
    return Bytes(source, zero_point)


def floats_of_bytes(graph: Graph, context: BuildContext, port: Port) -> Bytes | None:
    """The same of a tensor of f32; the zero point is the i32 behind its Convert."""
    subtract = _eltwise(graph, port, "Subtract")
    if subtract is None or not _are_bytes(graph, subtract.inputs[0]):
        return None
    zero_point = _converted(graph, subtract.inputs[1], "i32")
    if zero_point is None or not _is_byte(graph, context, zero_point):
        return None
    return Bytes(subtract.inputs[0], zero_point)


def as_floats(graph: Graph, port: Port) -> Port | None:
    """The tensor of f32 from which one of u8 was converted without a loss; None: there is none."""
    source = _converted(graph, port, "f32")
    return source if source is not None and _are_bytes(graph, source) else None


def _are_bytes(graph: Graph, port: Port) -> bool:
    """Whether all elements of a tensor of f32 are whole numbers of 0 to 255: converted from u8, or rounded, moved by a
    whole number and clamped, as DynamicQuantizeLinear does."""
    if _converted(graph, port, "u8") is not None:
        return True
    clamp = _eltwise(graph, port, "Clamp")
    if clamp is None:
        return False
    low, high = clamp.primitive.parameters  # type: ignore[attr-defined]
    add = _eltwise(graph, clamp.inputs[0], "Add")
    is_bounded = 0 <= low <= high <= _MOST and low.is_integer() and high.is_integer()
    return is_bounded and add is not None and all(_is_whole(graph, read) for read in add.inputs)


def _is_whole(graph: Graph, port: Port) -> bool:
    return _eltwise(graph, port, "Round") is not None or _converted(graph, port, "u8") is not None


def _converted(graph: Graph, port: Port, kind: str) -> Port | None:
    """What a Convert that makes a tensor reads, if that is of a type."""
    node = graph[port.primitive]
    if not isinstance(node.primitive, Convert) or node.primitive.fused_ops:
        return None
    return node.inputs[0] if graph.element_type(node.inputs[0]).name == kind else None


def _eltwise(graph: Graph, port: Port, mode: str) -> Node | None:
    node = graph[port.primitive]
    primitive = node.primitive
    return node if isinstance(primitive, Eltwise) and primitive.mode == mode and not primitive.fused_ops else None


def _is_byte(graph: Graph, context: BuildContext, port: Port) -> bool:
    """Whether a tensor of i32 is one number, which is 0 to 255 for certain."""
    layout, known = graph.layout(port), graph.constants.get(port.primitive)
    if not layout.is_static or layout.count != 1 or layout.rank > 1:
        return False
    if known is None:
        return _converted(graph, port, "u8") is not None
    return 0 <= int(known.on_host(context.stream).reshape(())) <= _MOST
