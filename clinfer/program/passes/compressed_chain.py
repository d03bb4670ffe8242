"""The chain of operations by which models make floats of weights of 8 or 4 bits: (weights - zero point) * scale.

It is a Convert, Subtract (perhaps), Multiply and, where an axis is cut into groups, Reshape, with Converts to wider
floats in between.
"""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.shape import StaticShape
from clinfer.ops.convert import Convert
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.matmul import COMPRESSED_TYPES, FLOAT_TYPES
from clinfer.ops.reshape import Reshape
from clinfer.program.graph import Graph, Node
from clinfer.topology import Port


@dataclass(frozen=True)
class CompressedChain:
    """What a matrix of floats is made of: constants, all of `shape` or stretching to it.

    Along `inner`, the axis of k, stand whole groups, or `shape` has another axis behind it for the k of one group.
    """

    weights: Port
    scale: Port
    zero_point: Port | None
    shape: StaticShape
    inner: int
    groups: int

    @staticmethod
    def behind(graph: Graph, end: Port, inner: int) -> CompressedChain | None:
        """The chain that ends at a port of two axes; None if there is none."""
        wanted = graph.layout(end)
        port = _unwidened(graph, end)
        reshaped = _primitive(graph, port, Reshape)
        multiply = _eltwise(graph, _unwidened(graph, reshaped.inputs[0] if reshaped else port), "Multiply")
        if multiply is None or wanted.rank != 2:
            return None
        split = _split(graph, multiply)
        if split is None:
            return None
        values, scale = split
        subtract = _eltwise(graph, values, "Subtract")
        zero_point = _unwidened(graph, subtract.inputs[1]) if subtract else None
        weights = _unwidened(graph, subtract.inputs[0] if subtract else values)
        if weights.primitive not in graph.constants or graph.element_type(weights) not in COMPRESSED_TYPES:
            return None
        if zero_point is not None and zero_point.primitive not in graph.constants:
            return None
        return CompressedChain._of(graph, weights, scale, zero_point, wanted.static_shape, inner)

    @staticmethod
    def _of(graph: Graph, weights: Port, scale: Port, zero_point: Port | None, wanted: StaticShape,
            inner: int) -> CompressedChain | None:
        shape = graph.layout(weights).static_shape
        if len(shape) == 3 and (*shape[:inner], shape[inner] * shape[inner + 1], *shape[inner + 2:]) == wanted:
            groups = shape[inner]
        elif shape == wanted:
            groups = 1
        else:
            return None
        stretching = [scale] if zero_point is None else [scale, zero_point]
        if not all(_stretches(graph.layout(port).static_shape, shape, inner) for port in stretching):
            return None
        return CompressedChain(weights, scale, zero_point, shape, inner, groups)


def _stretches(shape: StaticShape, to: StaticShape, inner: int) -> bool:
    """Whether a tensor stretches to another and has one value for all k of a group."""
    lifted = (1,) * (len(to) - len(shape)) + shape
    return len(lifted) == len(to) and all(
        have == 1 or (have == size and axis != inner + len(to) - 2)
        for axis, (have, size) in enumerate(zip(lifted, to, strict=True)))


def _unwidened(graph: Graph, port: Port) -> Port:
    """What a tensor was before Converts that every value survives: whole numbers of 8 bits to floats, floats to
    wider ones."""
    while (convert := _primitive(graph, port, Convert)) is not None:
        source, target = graph.element_type(convert.inputs[0]), graph.element_type(port)
        exact = source in COMPRESSED_TYPES or (source.is_float and target.bits > source.bits)
        if not exact or not target.is_float:
            break
        port = convert.inputs[0]
    return port


def _primitive(graph: Graph, port: Port, kind: type) -> Node | None:
    node = graph[port.primitive]
    return node if isinstance(node.primitive, kind) else None


def _eltwise(graph: Graph, port: Port, mode: str) -> Node | None:
    node = _primitive(graph, port, Eltwise)
    return node if node is not None and node.primitive.mode == mode else None  # type: ignore[attr-defined]


def _split(graph: Graph, multiply: Node) -> tuple[Port, Port] | None:
    """The factor that is computed and the one that is a constant, of floats."""
    for values, factor in (multiply.inputs, multiply.inputs[::-1]):
        scale = _unwidened(graph, factor)
        if scale.primitive in graph.constants and graph.element_type(scale) in FLOAT_TYPES \
                and values.primitive not in graph.constants:
            return values, scale
    return None
