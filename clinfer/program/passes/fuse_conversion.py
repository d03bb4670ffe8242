"""Lets primitives store their result in the type to which it is converted."""
from __future__ import annotations

from clinfer.base.element_type import ElementType
from clinfer.kernels.selector import ANYTHING
from clinfer.ops.color_convert import ColorConvert
from clinfer.ops.convert import Convert
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Port


def fuse_conversion(graph: Graph, context: BuildContext) -> None:
    """Where a Convert is the only reader of a conversion of colours, which can store other types."""
    for node in graph:
        if isinstance(node.primitive, Convert) and context.options.forced(node.id) == ANYTHING:
            _fuse_if_possible(graph, node)


def _fuse_if_possible(graph: Graph, node: Node) -> None:
    maker = graph[node.inputs[0].primitive]
    if not isinstance(maker.primitive, ColorConvert) or not graph.is_read_only_by(maker.id, node.id):
        return
    assert isinstance(node.primitive, Convert)
    made = maker.primitive.with_output_type(ElementType.of(node.primitive.destination_type))
    if made is None or made.output_padding or node.primitive.output_padding or node.primitive.fused_ops:
        return
    graph.replace(maker.id, made)
    maker.layouts = node.layouts
    graph.redirect(Port(node.id), Port(maker.id))
    graph.remove(node.id)
