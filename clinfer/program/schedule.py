"""Cuts the graph into segments at the points where the host must look at data, and orders it."""
from __future__ import annotations

from clinfer.program.graph import Graph, Node
from clinfer.topology import Input, Port

MOST_USEFUL = 16
"""Elements of a value that is looked at for what it spares."""


def assign_segments(graph: Graph) -> dict[str, int]:
    """The number of the segment of every node.

    A node stands behind the segments of all that it reads; one segment further where it needs the
    value of something that the device computes, or anything of a node with data-dependent outputs.
    """
    segments: dict[str, int] = {}
    for node in graph:
        values = value_ports(node)
        earliest = 0
        for port in node.inputs:
            source = graph[port.primitive]
            cut = source.primitive.data_dependent_output or (port in values and computes_on_device(graph, source))
            earliest = max(earliest, segments[port.primitive] + cut)
        segments[node.id] = earliest
    return segments


def order_nodes(nodes: list[Node], graph: Graph, segments: dict[str, int]) -> list[Node]:
    """Nodes in an order in which they can run, by segments; first in each what decides on later segments.

    So the host can read what it needs while the device goes on with the rest. `nodes` are in an order in which they
    can run.
    """
    urgent: set[str] = set()
    for node in reversed(nodes):
        mine = segments[node.id]
        values = value_ports(node)
        urgent |= {port.primitive for port in node.inputs if (
            (segments[port.primitive] < mine and port in values)
            or (segments[port.primitive] == mine and node.id in urgent))}
    return sorted(nodes, key=lambda node: (segments[node.id], node.id not in urgent))


def value_ports(node: Node) -> set[Port]:
    """The ports whose contents the host needs before it can plan the node."""
    if node.on_host:
        return set() if node.primitive.reads_shapes_only else set(node.inputs)
    return {node.inputs[i] for i in node.primitive.value_inputs}


def computes_on_device(graph: Graph, node: Node) -> bool:
    """Whether a node's output exists on the device only, once it has run."""
    return not (node.on_host or node.id in graph.constants or isinstance(node.primitive, Input))


def useful_inputs(graph: Graph, node: Node, segments: dict[str, int]) -> tuple[int, ...]:
    """The inputs among `useful_values` that are a few integers which the host knows when it plans the node: constants
    and shape arithmetic of the same segment."""
    def is_known(port: Port) -> bool:
        layout, maker = graph.layout(port), graph[port.primitive]
        at_hand = maker.id in graph.constants or (maker.on_host and segments[maker.id] == segments[node.id])
        return (at_hand and layout.is_static and layout.count <= MOST_USEFUL
                and layout.element_type.name in ("i32", "i64"))
    return tuple(i for i in node.primitive.useful_values if is_known(node.inputs[i]))
