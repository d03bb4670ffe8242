"""The chain of operations by which models make floats of weights of 8 or 4 bits: (weights - zero point) * scale.

It is a Convert, Subtract (perhaps), Multiply and, where an axis is cut into groups, Reshape, with Converts to wider
floats in between. A last one may round to what the reader computes in: kernels decompress to f32. In the place of the
first Convert weights of 4 bits may be looked up in a codebook: codebook[weights] * scale.
"""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.quantisation import CODEBOOK_SIZE
from clinfer.base.shape import Shape, StaticShape
from clinfer.ops.convert import Convert
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.gather import Gather
from clinfer.ops.matmul import FLOAT_TYPES, QUANTISED_TYPES
from clinfer.ops.reshape import Reshape
from clinfer.ops.transpose import Transpose
from clinfer.program.graph import Graph, Node
from clinfer.topology import Port

_ELEMENT_BY_ELEMENT = (Convert, Eltwise, Reshape, Transpose)


@dataclass(frozen=True)
class CompressedChain:
    """What a matrix of floats is made of: constants, all of `shape` or stretching to it.

    Along `inner`, the axis of k, stand whole groups, or `shape` has another axis behind it for the k of one group.
    """

    weights: Port
    scale: Port
    zero_point: Port | None
    codebook: Port | None
    shape: StaticShape
    inner: int
    groups: int

    @staticmethod
    def behind(graph: Graph, end: Port, inner: int) -> CompressedChain | str | None:
        """The chain that ends at a port; a text says why compressed weights behind it cannot be read as they are;
        None if there are none."""
        parts = ChainParts.behind(graph, end)
        if isinstance(parts, str):
            return parts if weights_behind(graph, end) else None
        return _fitted(graph, parts, graph.layout(end).shape, inner)


@dataclass(frozen=True)
class ChainParts:
    """The constants that a chain starts from; `codebook`: the numbers among which the weights are places."""

    weights: Port
    scale: Port
    zero_point: Port | None
    codebook: Port | None = None

    @staticmethod
    def behind(graph: Graph, end: Port) -> ChainParts | str:
        """Those of the chain that ends at a port; a text says why it is none."""
        port = _unwidened(graph, _unrounded(graph, end))
        reshaped = _primitive(graph, port, Reshape)
        multiply = _eltwise(graph, _unwidened(graph, reshaped.inputs[0] if reshaped else port), "Multiply")
        if multiply is None:
            return "no scale that is multiplied last, but for a Reshape and Converts"
        split = _split(graph, multiply)
        if split is None:
            return "the scale is no constant of floats"
        values, scale = split
        subtract = _eltwise(graph, values, "Subtract")
        zero_point = _unwidened(graph, subtract.inputs[1]) if subtract else None
        weights = _unwidened(graph, subtract.inputs[0] if subtract else values)
        lookup = _lookup(graph, weights)
        if lookup is not None:
            if zero_point is not None:
                return "a zero point is subtracted from numbers of a codebook"
            codebook, places = lookup
            return ChainParts(places, scale, None, codebook)
        if weights.primitive not in graph.constants or graph.element_type(weights) not in QUANTISED_TYPES:
            return f"{type(graph[weights.primitive].primitive).__name__} stands before the scale"
        if zero_point is not None and zero_point.primitive not in graph.constants:
            return "the zero point is computed"
        return ChainParts(weights, scale, zero_point)


def stay_floats(graph: Graph, node: Node, index: int, reason: str) -> None:
    """Note why compressed weights that a node reads are decompressed when the program is built."""
    port = node.inputs[index]
    graph.history.stayed(node.id, ((port.primitive, f"its compressed weights become {graph.element_type(port)} when "
                                    f"the program is built: {reason}"),))


def _fitted(graph: Graph, parts: ChainParts, wanted: Shape, inner: int) -> CompressedChain | str:
    """The chain of these parts; a text if their shapes are others than kernels read."""
    weights, scale, zero_point = parts.weights, parts.scale, parts.zero_point
    shape = graph.layout(weights).static_shape
    if len(wanted) != 2:
        return f"the weights have {len(wanted)} axes, kernels decompress matrices"
    if len(shape) == 3 and (*shape[:inner], shape[inner] * shape[inner + 1], *shape[inner + 2:]) == wanted:
        groups = shape[inner]
    elif shape == wanted:
        groups = 1
    else:
        return "its Reshape does more than join the groups of the inner axis"
    if not all(_stretches(graph.layout(port).static_shape, shape, inner)
               for port in (scale, zero_point) if port is not None):
        return "scales or zero points differ within a group of the inner axis"
    return CompressedChain(weights, scale, zero_point, parts.codebook, shape, inner, groups)


def weights_behind(graph: Graph, end: Port) -> bool:
    """Whether a tensor of floats is made, element by element, of a compressed constant of its size."""
    if not graph.element_type(end).is_float or end.primitive in graph.constants:
        return False
    wanted, seen, left = graph.layout(end), set(), [end]
    while left:
        port = left.pop()
        layout = graph.layout(port)
        lookup = _lookup(graph, port)
        if lookup is not None:
            left.append(lookup[1])
        elif port.primitive in graph.constants:
            if layout.element_type in QUANTISED_TYPES and wanted.is_static and layout.count == wanted.count:
                return True
        elif port not in seen and isinstance(graph[port.primitive].primitive, _ELEMENT_BY_ELEMENT):
            seen.add(port)
            left += graph[port.primitive].inputs
    return False


def _stretches(shape: StaticShape, to: StaticShape, inner: int) -> bool:
    """Whether a tensor stretches to another and has one value for all k of a group."""
    lifted = (1,) * (len(to) - len(shape)) + shape
    return len(lifted) == len(to) and all(
        have == 1 or (have == size and axis != inner + len(to) - 2)
        for axis, (have, size) in enumerate(zip(lifted, to, strict=True)))


def _lookup(graph: Graph, port: Port) -> tuple[Port, Port] | None:
    """The codebook and the places of 4 bits of a lookup of one in the other, both constants."""
    node = _primitive(graph, port, Gather)
    if node is None:
        return None
    codebook, places = _unwidened(graph, node.inputs[0]), node.inputs[1]
    convert = _primitive(graph, places, Convert)
    if convert is not None and not graph.element_type(places).is_float:
        places = convert.inputs[0]
    if any(given.primitive not in graph.constants for given in (codebook, places)):
        return None
    numbers = graph.layout(codebook)
    is_codebook = numbers.rank == 1 and numbers.element_type.is_float and numbers.count <= CODEBOOK_SIZE
    return (codebook, places) if is_codebook and graph.element_type(places).name == "u4" else None


def _unrounded(graph: Graph, port: Port) -> Port:
    """What a tensor was before it became another type of floats."""
    convert = _primitive(graph, port, Convert)
    types = graph.element_type(port), graph.element_type(convert.inputs[0] if convert else port)
    return convert.inputs[0] if convert and all(kind.is_float for kind in types) else port


def _unwidened(graph: Graph, port: Port) -> Port:
    """What a tensor was before Converts that every value survives: whole numbers of 8 bits to floats, floats to
    wider ones."""
    while (convert := _primitive(graph, port, Convert)) is not None:
        source, target = graph.element_type(convert.inputs[0]), graph.element_type(port)
        exact = source in QUANTISED_TYPES or (source.is_float and target.bits > source.bits)
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
