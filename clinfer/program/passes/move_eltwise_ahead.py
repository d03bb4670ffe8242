"""Lets element-wise primitives work before what only moves elements, where they can become fused operations of a
host."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from clinfer.kernels.selector import ANYTHING
from clinfer.program.constants import ConstantData
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Constant, Port


def move_eltwise_ahead(graph: Graph, context: BuildContext) -> None:
    """Where a primitive that is an expression of one tensor and of single numbers reads what only moves elements
    (`only_moves`), behind a host that takes fused operations; nobody else may read anything between the two."""
    for node in graph:
        if node.on_host or node.id in graph.constants or context.options.forced(node.id) != ANYTHING:
            continue
        moved = _moved_input(graph, node)
        if moved is None:
            continue
        movers = list(_movers(graph, node, moved))
        if movers and can_host(graph, graph[movers[-1].inputs[0].primitive], movers[-1]):
            for mover in movers:
                _move(graph, node, mover, context)


def _moved_input(graph: Graph, node: Node) -> Port | None:
    """The one tensor that a node reads besides constants of one element, if it keeps that one's type and shape."""
    types = tuple(graph.element_type(port) for port in node.inputs)
    if node.primitive.fused_ops or node.primitive.fused_text(types) is None:
        return None
    ports = {port for port in node.inputs if not _is_number(graph, port)}
    if len(ports) != 1:
        return None
    port, = ports
    layout = graph.layout(port)
    same = all(x.element_type == layout.element_type and x.rank == layout.rank for x in node.layouts)
    return port if same and not node.primitive.output_padding else None


def _is_number(graph: Graph, port: Port) -> bool:
    layout = graph.layout(port)
    return port.primitive in graph.constants and layout.is_static and layout.count == 1


def _movers(graph: Graph, reader: Node, port: Port) -> Iterator[Node]:
    """What moves elements, from a port backwards; each is read by the one after it alone, the first by the reader."""
    while True:
        node = graph[port.primitive]
        if not node.primitive.only_moves or node.on_host or node.primitive.output_padding or node.id in graph.constants:
            return
        if not graph.is_read_only_by(node.id, reader.id):
            return
        yield node
        reader, port = node, node.inputs[0]


def can_host(graph: Graph, host: Node, mover: Node) -> bool:
    """Whether a node that is read by another one alone takes fused operations."""
    ready = host.on_host or host.id in graph.constants
    alone = graph.is_read_only_by(host.id, mover.id)
    return alone and not ready and host.primitive.takes_fused_ops and not host.primitive.output_padding


def _move(graph: Graph, node: Node, mover: Node, context: BuildContext) -> None:
    rank = graph.layout(mover.inputs[0]).rank
    for index, port in enumerate(node.inputs):
        if _is_number(graph, port) and graph.layout(port).rank > rank:
            graph.set_input(node.id, index, _number(graph, node, port, context))
    for port in node.inputs:
        if _is_number(graph, port):
            graph.bring_before(port.primitive, mover.id)
    graph.hoist(node.id, mover.id)
    node.layouts = context.infer(graph, node)


def _number(graph: Graph, node: Node, port: Port, context: BuildContext) -> Port:
    """A constant of one element as one without axes."""
    value = np.asarray(context.known_value(graph, port)).reshape(())
    kind = graph.element_type(port)
    made = graph.insert_before(node.id, Constant(graph.unique_id(f"{port}/number"), value=value, element_type=kind,
                                                 origin=graph[port.primitive].primitive.origin))
    made.layouts = context.infer(graph, made)
    graph.constants[made.id] = ConstantData(made.layouts[0], array=value)
    return Port(made.id)
