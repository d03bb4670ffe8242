"""Joins read what was split, in place of its parts one behind the other."""
from __future__ import annotations

from dataclasses import replace

from clinfer.ops.concat import Concat
from clinfer.ops.split import Split
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Port


def join_split_parts(graph: Graph, context: BuildContext) -> None:
    """Where all parts of a split stand in order among the inputs of a concatenation along the same axis.

    One copy is made in place of several, or none where the split tensor can lie within the joined one.
    """
    for node in graph:
        if isinstance(node.primitive, Concat) and not node.on_host and node.id not in graph.constants:
            inputs = _joined(graph, context, node, node.primitive.axis)
            if inputs != node.inputs:
                graph.replace(node.id, replace(node.primitive, inputs=inputs))


def _joined(graph: Graph, context: BuildContext, node: Node, axis: int) -> tuple[Port, ...]:
    found: list[Port] = []
    left = list(node.inputs)
    while left:
        parts = _parts(graph, context, left[0], axis)
        if len(parts) > 1 and tuple(left[:len(parts)]) == parts:
            found.append(graph[left[0].primitive].inputs[0])
            left = left[len(parts):]
        else:
            found.append(left.pop(0))
    return tuple(found)


def _parts(graph: Graph, context: BuildContext, first: Port, axis: int) -> tuple[Port, ...]:
    """All parts of the split that `first` is one of, if it is one along the axis."""
    split = graph[first.primitive]
    if not isinstance(split.primitive, Split) or split.on_host or split.id in graph.constants:
        return ()
    rank = graph.layout(first).rank
    if split.primitive.axis_of(context.known_values(graph, split), rank) != axis % rank:
        return ()
    return tuple(Port(split.id, i) for i in range(split.primitive.output_count))
