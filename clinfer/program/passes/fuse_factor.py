"""Moves a factor per channel, computed for each picture, into the primitive that reads the product."""
from __future__ import annotations

from clinfer.base.element_type import ElementType
from clinfer.kernels.selector import ANYTHING
from clinfer.ops.convolution import Convolution
from clinfer.ops.eltwise import is_multiply
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.size_names import SizeNames, is_kept
from clinfer.topology import Port


def fuse_factor(graph: Graph, context: BuildContext) -> None:
    """Where a product of data [B, C, ...] and a factor [B or 1, C, 1...] is read by one convolution alone, as its data,
    and that multiplies by itself. Tensor cores take the data as it is: convolutions of f16 are left to them."""
    names: SizeNames | None = None
    for node in graph:
        found = _find(graph, node, context)
        if found is None or _is_for_tensor_cores(graph, found[0], context):
            continue
        names = names or SizeNames(graph, context)
        data, factor = found
        if is_kept(names.shape(data), (names.shape(factor),)):
            _fuse(graph, node, data, factor)


def _find(graph: Graph, node: Node, context: BuildContext) -> tuple[Port, Port] | None:
    """Data and factor of a product that its reader can multiply; whether the factor fits the batch is left open."""
    reader = _only_reader(graph, node)
    if reader is None or not is_multiply(node.primitive) or node.primitive.fused_ops or node.primitive.output_padding:
        return None
    if node.on_host or context.options.forced(node.id) != ANYTHING or len(set(node.inputs)) != 2:
        return None
    layouts = graph.input_layouts(node)
    if not all(x.element_type.is_float and x.element_type == node.layouts[0].element_type for x in layouts):
        return None
    for data, factor in (node.inputs, node.inputs[::-1]):
        shape, given = graph.layout(data).shape, graph.layout(factor).shape
        per_channel = len(given) == len(shape) > 2 and given[1] == shape[1] and isinstance(given[1], int)
        if per_channel and all(size == 1 for size in given[2:]) and _multiplying(reader, data, factor):
            return data, factor
    return None


def _is_for_tensor_cores(graph: Graph, data: Port, context: BuildContext) -> bool:
    return context.engine.capabilities.tensor_cores and graph.element_type(data) == ElementType.of("f16")


def _multiplying(reader: Node, data: Port, factor: Port) -> Convolution | None:
    return reader.primitive.with_factor(data, factor) if isinstance(reader.primitive, Convolution) else None


def _only_reader(graph: Graph, node: Node) -> Node | None:
    readers = graph.readers(Port(node.id))
    if graph.is_output(node.id) or len(readers) != 1 or readers[0][1] != 0 or readers[0][0].on_host:
        return None
    return readers[0][0]


def _fuse(graph: Graph, node: Node, data: Port, factor: Port) -> None:
    reader = _only_reader(graph, node)
    fused = None if reader is None else _multiplying(reader, data, factor)
    if reader is not None and fused is not None:
        graph.replace(reader.id, fused)
        graph.remove(node.id)
