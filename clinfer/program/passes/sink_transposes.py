"""Moves what turns channels last into channels first behind element-wise primitives, where products can take these."""
from __future__ import annotations

import numpy as np

from clinfer.kernels.selector import ANYTHING
from clinfer.ops.transpose import Transpose
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.insertion import constant_before, transposed
from clinfer.program.passes.move_eltwise_ahead import can_host
from clinfer.topology import Port


def sink_transposes(graph: Graph, context: BuildContext) -> None:
    """An element-wise primitive whose other inputs are constants, or can be read with channels last, works on the
    data before a Transpose ("transpose sinking"), behind a host that takes fused operations.

    So it is with residual blocks whose branches end in products over channels: turned forth and back, the sum of one
    block is read by the next as it is. What is turned anew is the same memory where kernels want channels last, as of
    f16 on tensor cores. Elsewhere it would be a copy, and so tensors that are not turned already are left.
    """
    for node in graph:
        turned = _turned_input(graph, node, context)
        if turned is None:
            continue
        index, order = turned
        others = [other for other in range(len(node.inputs)) if other != index]
        if all(_can_turn_back(graph, node, other, order, context) for other in others):
            _sink(graph, node, index, order, context)


def _turned_input(graph: Graph, node: Node, context: BuildContext) -> tuple[int, tuple[int, ...]] | None:
    """Which input of an element-wise primitive is turned, and how."""
    if node.on_host or node.id in graph.constants or context.options.forced(node.id) != ANYTHING:
        return None
    types = tuple(graph.element_type(port) for port in node.inputs)
    is_plain = not node.primitive.fused_ops and not node.primitive.output_padding
    if not is_plain or node.primitive.fused_text(types) is None:
        return None
    for index, port in enumerate(node.inputs):
        order = _order(graph, port, context)
        source = graph[port.primitive]
        if (_puts_channels_first(order) and node.layouts[0].rank == len(order)
                and graph.is_read_only_by(source.id, node.id)
                and can_host(graph, graph[source.inputs[0].primitive], source)):
            return index, order
    return None


def _order(graph: Graph, port: Port, context: BuildContext) -> tuple[int, ...]:
    """The order of axes in which a Transpose puts a tensor; of anything else none."""
    node = graph[port.primitive]
    part = context.as_part(graph, port) if isinstance(node.primitive, Transpose) else None
    return () if part is None or part.cuts else part.axes


def _puts_channels_first(order: tuple[int, ...]) -> bool:
    return len(order) > 3 and order == (0, len(order) - 1, *range(1, len(order) - 1))


def _can_turn_back(graph: Graph, node: Node, index: int, order: tuple[int, ...], context: BuildContext) -> bool:
    port = node.inputs[index]
    if port.primitive in graph.constants:
        return True
    if graph.layout(port).rank != len(order):
        return False
    wants_last = context.engine.capabilities.tensor_cores and graph.element_type(port).name == "f16"
    return _order(graph, port, context) == order or wants_last


def _sink(graph: Graph, node: Node, index: int, order: tuple[int, ...], context: BuildContext) -> None:
    turned = graph[node.inputs[index].primitive]
    graph.move_before(turned.id, node.id)
    for other, port in enumerate(node.inputs):
        if other != index:
            graph.set_input(node.id, other, _turned_back(graph, turned, port, order, context))
            graph.remove_unread(port.primitive)
    graph.hoist(node.id, turned.id)
    for moved in (node, turned):
        moved.layouts = context.infer(graph, moved)


def _turned_back(graph: Graph, reader: Node, port: Port, order: tuple[int, ...], context: BuildContext) -> Port:
    """What a tensor is the turned one of, in front of a node."""
    rank = len(order)
    if port.primitive in graph.constants:
        given = graph.constants[port.primitive]
        value = given.on_host(context.stream)
        lifted = value.reshape((1,) * (rank - value.ndim) + value.shape)
        turned = np.ascontiguousarray(lifted.transpose(np.argsort(order)))
        return constant_before(graph, reader, "turned", turned, given.layout.element_type)
    if _order(graph, port, context) == order:
        return graph[port.primitive].inputs[0]
    return transposed(graph, context, reader, port, np.argsort(order).tolist())
