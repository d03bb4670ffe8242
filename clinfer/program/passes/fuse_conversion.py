"""Lets primitives store their result in the type to which it is converted."""
from __future__ import annotations

from dataclasses import replace

from clinfer.base.element_type import ElementType
from clinfer.kernels.selector import ANYTHING
from clinfer.ops.color_convert import ColorConvert
from clinfer.ops.convert import Convert
from clinfer.ops.recurrent import Recurrence
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Port, Primitive


def fuse_conversion(graph: Graph, context: BuildContext) -> None:
    """Where a Convert is the only reader of a conversion of colours, or of an output of a recurrent network, which can
    store other types."""
    for node in graph:
        if isinstance(node.primitive, Convert) and context.options.forced(node.id) == ANYTHING:
            _fuse_if_possible(graph, node, ElementType.of(node.primitive.destination_type))


def _fuse_if_possible(graph: Graph, node: Node, kind: ElementType) -> None:
    port = node.inputs[0]
    maker = graph[port.primitive]
    is_read_elsewhere = port in graph.outputs.values() or len(graph.readers(port)) != 1
    if is_read_elsewhere or node.primitive.output_padding or node.primitive.fused_ops:
        return
    made = _storing(maker, port.index, kind)
    if made is None or made.output_padding:
        return
    graph.replace(maker.id, made)
    maker.layouts = tuple(replace(layout, element_type=kind) if index == port.index else layout
                          for index, layout in enumerate(maker.layouts))
    graph.redirect(Port(node.id), port)
    graph.remove(node.id)


def _storing(maker: Node, output: int, kind: ElementType) -> Primitive | None:
    """What makes the same and stores an output in another type, if it can."""
    if isinstance(maker.primitive, ColorConvert):
        return maker.primitive.with_output_type(kind)
    types = tuple(layout.element_type for layout in maker.layouts)
    if not isinstance(maker.primitive, Recurrence) or not kind.is_float or not types[output].is_float:
        return None
    return maker.primitive.with_output_type(output, kind, types)
