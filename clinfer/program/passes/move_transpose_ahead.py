"""Lets primitives work on data whose axes already stand in the order in which their result is wanted."""
from __future__ import annotations

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.kernels.selector import ANYTHING
from clinfer.ops.interpolate import Interpolate
from clinfer.program.constants import ConstantData
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Constant, Port


def move_transpose_ahead(graph: Graph, context: BuildContext) -> None:
    """Where what only puts axes in another order (Transpose) is the only reader of an Interpolate that gains by
    it: pictures are resized plane by plane."""
    for node in graph:
        if node.id in graph.constants or context.options.forced(node.id) != ANYTHING:
            continue
        part = context.as_part(graph, Port(node.id))
        maker = graph[node.inputs[0].primitive] if node.inputs else node
        if part is None or part.cuts or len(part.axes) != graph.layout(node.inputs[0]).rank:
            continue
        if _reads_alone(graph, node, maker):
            _move(graph, node, maker, part.axes, context)


def _reads_alone(graph: Graph, node: Node, maker: Node) -> bool:
    plain = not maker.primitive.fused_ops and not maker.primitive.output_padding
    return isinstance(maker.primitive, Interpolate) and plain and graph.is_read_only_by(maker.id, node.id)


def _move(graph: Graph, node: Node, maker: Node, order: tuple[int, ...], context: BuildContext) -> None:
    resizing = maker.primitive
    assert isinstance(resizing, Interpolate)
    changed = resizing.on_reordered(order, graph.layout(maker.inputs[0]).shape, context.known_values(graph, maker))
    if changed is None:
        return
    for port in node.inputs[1:]:
        graph.bring_before(port.primitive, maker.id)
    graph.hoist(node.id, maker.id)
    node.layouts = context.infer(graph, node)
    for index, value in changed.items():
        left = maker.inputs[index]
        graph.set_input(maker.id, index, _constant(graph, maker, left, value, context))
        graph.remove_unread(left.primitive)
    maker.layouts = context.infer(graph, maker)


def _constant(graph: Graph, reader: Node, left: Port, value: np.ndarray, context: BuildContext) -> Port:
    made = graph.insert_before(reader.id, Constant(
        graph.unique_id(f"{left}/reordered"), value=value, element_type=ElementType.of_numpy(value.dtype),
        origin=graph[left.primitive].primitive.origin))
    made.layouts = context.infer(graph, made)
    graph.constants[made.id] = ConstantData(made.layouts[0], array=value)
    return Port(made.id)
