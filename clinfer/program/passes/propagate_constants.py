"""Computes at build time what depends on constants alone.

Small arithmetic is done with NumPy; everything else runs once on the device, in an internal network. Where a model has
many constants, several internal networks do it one after the other, so that only a part of them is there twice.
"""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.program.constants import ConstantData
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Constant, Input, Port, Topology

HOST_ELEMENTS = 4096
GROUP_BYTES = 128 << 20
"""Constants that one internal network reads, where it could read fewer."""


def propagate_constants(graph: Graph, context: BuildContext) -> None:
    """Replace every node that depends on constants alone by its values."""
    _evaluate_small(graph, context)
    foldable = _foldable(graph)
    wanted = [node for node in foldable.values() if _is_read_outside(graph, node, foldable)]
    for group in _groups(graph, wanted):
        _fold(graph, group, context)
        remove_unread(graph, list(foldable.values()))


def _groups(graph: Graph, wanted: list[Node]) -> list[list[Node]]:
    """The nodes in groups, in graph order; each but a group of one needs at most `GROUP_BYTES` of constants."""
    groups: list[list[Node]] = []
    read: set[str] = set()
    for node in wanted:
        needed = _needed(graph, [node]) & graph.constants.keys()
        if not groups or sum(graph.constants[id].layout.byte_size for id in read | needed) > GROUP_BYTES:
            groups.append([])
            read = set()
        groups[-1].append(node)
        read |= needed
    return groups


def _fold(graph: Graph, wanted: list[Node], context: BuildContext) -> None:
    """Compute nodes by one internal network; who reads them reads constants."""
    outputs = {str(Port(node.id, i)): Port(node.id, i) for node in wanted for i in range(len(node.layouts))}
    needed = _closure(graph, wanted)
    given = {node.id: graph.constants[node.id] for node in needed if node.id in graph.constants}
    topology = Topology(*(_as_constant(node, given[node.id]) if node.id in given else node.primitive
                          for node in needed), outputs=outputs)
    results = context.execute_constants(topology, replace(context, given=given))
    for node in wanted:
        for index in range(len(node.layouts)):
            port = Port(node.id, index)
            replace_port(graph, port, results[str(port)])


def _evaluate_small(graph: Graph, context: BuildContext) -> None:
    for node in graph:
        if not node.primitive.can_evaluate or not node.inputs:
            continue
        constants = [graph.constants.get(port.primitive) for port in node.inputs]
        small = all(x.is_static and x.count <= HOST_ELEMENTS for x in node.layouts)
        shape_only = node.primitive.reads_shapes_only and all(x.is_static for x in graph.input_layouts(node))
        if not small or not (shape_only or all(c is not None for c in constants)):
            continue
        values = tuple(np.empty(0) if c is None or shape_only else c.on_host(context.stream) for c in constants)
        shapes = tuple(x.shape for x in graph.input_layouts(node))
        for index, value in enumerate(node.primitive.evaluate(values, shapes)):
            layout = node.layouts[index]
            if layout.static_shape != value.shape:
                raise ClinferError("host evaluation and shape inference disagree", where=node.primitive.where,
                                   values={"evaluated": value.shape, "inferred": layout})
            replace_port(graph, Port(node.id, index), ConstantData(layout, array=value))
        remove_unread(graph, [node])


def _foldable(graph: Graph) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for node in graph:
        primitive = node.primitive
        if isinstance(primitive, (Constant, Input)) or primitive.data_dependent_output or primitive.bodies:
            continue
        if node.inputs and all(p.primitive in found or p.primitive in graph.constants for p in node.inputs):
            found[node.id] = node
    return found


def _is_read_outside(graph: Graph, node: Node, foldable: dict[str, Node]) -> bool:
    return graph.is_output(node.id) or any(user.id not in foldable for user in graph.users(node.id))


def _closure(graph: Graph, wanted: list[Node]) -> list[Node]:
    """The nodes that the wanted ones depend on, and these, in graph order."""
    needed = _needed(graph, wanted)
    return [node for node in graph if node.id in needed]


def _needed(graph: Graph, wanted: list[Node]) -> set[str]:
    """The ids of the nodes that the wanted ones depend on, and of these."""
    needed: set[str] = set()
    waiting = [node.id for node in wanted]
    while waiting:
        id = waiting.pop()
        if id not in needed:
            needed.add(id)
            waiting += [port.primitive for port in graph[id].inputs]
    return needed


def _as_constant(node: Node, data: ConstantData) -> Constant:
    """A constant whose contents are given to the build."""
    return Constant(node.id, value=np.empty(0), element_type=data.layout.element_type)


def replace_port(graph: Graph, port: Port, data: ConstantData) -> None:
    """Let everybody who reads a port read a constant instead."""
    readers = graph.readers(port)
    if not readers and port not in graph.outputs.values():
        return
    node = graph[port.primitive]
    constant = graph.insert_before(node.id, Constant(
        graph.unique_id(f"{port}/folded"), origin=node.primitive.origin,
        value=np.empty(0), element_type=data.layout.element_type))
    constant.layouts = (data.layout,)
    graph.constants[constant.id] = data
    graph.redirect(port, Port(constant.id))


def remove_unread(graph: Graph, nodes: list[Node]) -> None:
    """Take out those of the nodes (given in graph order) that nobody reads any more, and constants that only they
    read."""
    for node in reversed(nodes):
        if node.id in graph and not graph.users(node.id) and not graph.is_output(node.id):
            read = [graph[port.primitive] for port in node.inputs]
            graph.remove(node.id)
            remove_unread(graph, [source for source in read if source.id in graph.constants])
