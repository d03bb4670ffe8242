"""Lets attention find the rows of caches that beams select, so that nobody moves them."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from clinfer.base.element_type import ElementType
from clinfer.base.shape import ANY
from clinfer.ops.byte_rows import DequantiseRows
from clinfer.ops.convert import Convert
from clinfer.ops.sdpa import ScaledDotProductAttention
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Input, Port, State

_KEY, _VALUE = 1, 2
_LENGTH, _BATCH = 0, 1
"""Stored axes of a cache."""

_Caches = dict[str, State]
"""By variables."""


def leave_beams_in_place(graph: Graph, context: BuildContext) -> None:
    """Give attention a table of where its keys and values lie, where these are caches of one length whose rows one
    input selects, and nothing else reads them. The rows of other caches are moved before the graph runs."""
    groups: dict[tuple[str, str], _Caches] = {}
    for state in graph.states:
        if state.grows and state.selected_by and state.sizes[_LENGTH]:
            groups.setdefault((state.selected_by, state.sizes[_LENGTH]), {})[state.variable] = state
    for (selected_by, _), caches in groups.items():
        readers = _readers(graph, caches)
        if readers:
            _read_by_table(graph, context, f"{selected_by}/table", caches, readers)


def _readers(graph: Graph, caches: _Caches) -> list[Node]:
    """The attentions that read caches of a group; taken out of it are those that anything else reads."""
    attentions = [node for node in graph if isinstance(node.primitive, ScaledDotProductAttention)]
    count = -1
    while len(caches) != count:
        count = len(caches)
        read = {variable: set(_read_as(graph, state)) for variable, state in caches.items()}
        able = {node.id for node in attentions if _sees_rows(graph, node) and all(
            any((node.id, index) in places for places in read.values()) for index in (_KEY, _VALUE))}
        for variable, places in read.items():
            if not places or any(reader not in able or index not in (_KEY, _VALUE) for reader, index in places):
                del caches[variable]
    return [node for node in attentions if node.id in able] if caches else []


def _read_as(graph: Graph, state: State) -> Iterator[tuple[str, int]]:
    """(node, input) of all that reads the rows of a cache, old or new, as they are or row by row in another type."""
    joined = graph.outputs[state.output]
    if sum(port == joined for port in graph.outputs.values()) > 1:
        yield joined.primitive, 0
    waiting = [Port(state.input), joined]
    while waiting:
        for node, index in graph.readers(waiting.pop()):
            if node.primitive.reads_shapes_only or node.id == joined.primitive:
                continue
            if isinstance(node.primitive, (Convert, DequantiseRows)) and not (
                    node.primitive.fused_ops or graph.is_output(node.id)):
                waiting.append(Port(node.id))
            else:
                yield node.id, index


def _sees_rows(graph: Graph, node: Node) -> bool:
    """Whether attention sees each position and each row of keys and values in the places of a cache."""
    primitive = cast(ScaledDotProductAttention, node.primitive)
    parts = [primitive.part(index, graph.layout(node.inputs[index]).rank) for index in (_KEY, _VALUE)]
    return not primitive.by_table and all(
        len(part.axes) == 4 and part.axes[0] == _BATCH and part.axes[2] == _LENGTH
        and all(axis not in (_LENGTH, _BATCH) for axis, _, _ in part.cuts) for part in parts)


def _read_by_table(graph: Graph, context: BuildContext, name: str, caches: _Caches, readers: list[Node]) -> None:
    table = graph.add_input(readers[0].id, Input(graph.unique_id(name), shape=(ANY, ANY),
                                                 element_type=ElementType.of("i32")))
    table.layouts = context.infer(graph, table)
    for node in readers:
        primitive = cast(ScaledDotProductAttention, node.primitive)
        graph.replace(node.id, replace(primitive, inputs=(*node.inputs, Port(table.id)), by_table=True))
    graph.states = tuple(replace(state, table=table.id) if state.variable in caches else state
                         for state in graph.states)
