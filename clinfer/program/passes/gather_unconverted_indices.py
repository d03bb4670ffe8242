"""Lets lookups read their indices in the type in which the model has them."""
from __future__ import annotations

from clinfer.base.element_type import ElementType
from clinfer.kernels.selector import ANYTHING
from clinfer.ops.convert import Convert
from clinfer.ops.gather import Gathering
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Port

_INDICES = 1
_TYPES = tuple(map(ElementType.of, ("i8", "u8", "i16", "u16", "i32", "u32", "i64")))
_WIDE = tuple(map(ElementType.of, ("i32", "i64")))


def gather_unconverted_indices(graph: Graph, context: BuildContext) -> None:
    """Where whole numbers are converted to others for lookups alone, as PyTorch's tokens are from i64 to i32: a launch
    less. An index that the conversion would wrap into the data is outside of it now."""
    for node in graph:
        if isinstance(node.primitive, Convert) and context.options.forced(node.id) == ANYTHING and _is_for_lookups(
                graph, node):
            graph.redirect(Port(node.id), node.inputs[0])
            graph.remove(node.id)


def _is_for_lookups(graph: Graph, node: Node) -> bool:
    primitive, readers = node.primitive, graph.readers(Port(node.id))
    return (bool(readers) and not graph.is_output(node.id) and not primitive.output_padding
            and not primitive.fused_ops and graph.element_type(node.inputs[0]) in _TYPES
            and node.layouts[0].element_type in _WIDE
            and all(isinstance(reader.primitive, Gathering) and index == _INDICES for reader, index in readers))
