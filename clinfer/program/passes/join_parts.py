"""Joins read what was split, or joined before, in place of its parts one behind the other."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from clinfer.ops.concat import Concat
from clinfer.ops.split import Split
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Port


def join_parts(graph: Graph, context: BuildContext) -> None:
    """Where all parts of a split stand in order among the inputs of a concatenation along the same axis, or all that
    another concatenation joins.

    One copy is made in place of several, or none where the whole can lie within the joined tensor.
    """
    for node in graph:
        if isinstance(node.primitive, Concat) and not node.on_host and node.id not in graph.constants:
            inputs = _joined(graph, context, node, node.primitive.axis)
            if inputs != node.inputs:
                graph.replace(node.id, replace(node.primitive, inputs=inputs))


class _Whole(NamedTuple):
    """A tensor, and what lies in it one behind the other."""

    port: Port
    parts: tuple[Port, ...]


def _joined(graph: Graph, context: BuildContext, node: Node, axis: int) -> tuple[Port, ...]:
    found: list[Port] = []
    left = list(node.inputs)
    while left:
        most = len(found) + len(left) - 1
        wholes = (*_split(graph, context, left[0], axis), *_joined_before(graph, left[0], axis, most))
        whole = next((whole for whole in wholes if tuple(left[:len(whole.parts)]) == whole.parts), None)
        if whole is None:
            found.append(left.pop(0))
        else:
            graph.bring_before(whole.port.primitive, node.id)
            left = [whole.port, *left[len(whole.parts):]]
    return tuple(found)


def _split(graph: Graph, context: BuildContext, first: Port, axis: int) -> Iterator[_Whole]:
    """What was split along the axis into several parts, of which `first` is one."""
    split = graph[first.primitive]
    if not isinstance(split.primitive, Split) or split.on_host or split.id in graph.constants:
        return
    rank, count = graph.layout(first).rank, split.primitive.output_count
    if count > 1 and split.primitive.axis_of(context.known_values(graph, split), rank) == axis % rank:
        yield _Whole(split.inputs[0], tuple(Port(split.id, i) for i in range(count)))


def _joined_before(graph: Graph, first: Port, axis: int, most: int) -> Iterator[_Whole]:
    """What 2 to `most` tensors are joined to along the axis, `first` before the others."""
    rank = graph.layout(first).rank
    for node, index in graph.readers(first):
        primitive = node.primitive
        if (isinstance(primitive, Concat) and index == 0 and primitive.axis % rank == axis % rank
                and 1 < len(node.inputs) <= most and not node.on_host and node.id not in graph.constants):
            yield _Whole(Port(node.id), node.inputs)
