"""Lets lookups read tables in the narrow type in which the model stores them."""
from __future__ import annotations

from dataclasses import replace

from clinfer.base.element_type import ElementType
from clinfer.kernels.selector import ANYTHING
from clinfer.ops.convert import Convert
from clinfer.ops.gather import Gathering
from clinfer.ops.matmul import QUANTISED_TYPES
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Port

_LEAST_SAVED = 1 << 16
"""Bytes that a wide table takes more, below which a conversion of what was found is not worth its launch."""


def gather_narrow_rows(graph: Graph, context: BuildContext) -> None:
    """A lookup in a widened constant looks the narrow elements up, and widens what it found.

    Only where all that reads the wide table is lookups: then the device never holds it.
    """
    for node in graph:
        if not isinstance(node.primitive, Gathering) or context.options.forced(node.id) != ANYTHING:
            continue
        table = graph[node.inputs[0].primitive]
        if isinstance(table.primitive, Convert) and _is_worth_it(graph, table):
            _look_up_first(graph, node, table, context)


def _is_worth_it(graph: Graph, table: Node) -> bool:
    source, wide = table.inputs[0], table.layouts[0]
    if source.primitive not in graph.constants or not _is_exact(graph.element_type(source), wide.element_type):
        return False
    if wide.byte_size - graph.layout(source).byte_size < _LEAST_SAVED or graph.is_output(table.id):
        return False
    return all(isinstance(reader.primitive, Gathering) and index == 0
               for reader, index in graph.readers(Port(table.id)))


def _is_exact(narrow: ElementType, wide: ElementType) -> bool:
    """Whether every value of the narrow type, which lookups can store, is one of the wide type."""
    if narrow.is_packed or not wide.is_float:
        return False
    return narrow in QUANTISED_TYPES or (narrow.is_float and narrow.bits < wide.bits)


def _look_up_first(graph: Graph, node: Node, table: Node, context: BuildContext) -> None:
    lookup = node.primitive
    found = graph.insert_before(node.id, replace(lookup, id=graph.unique_id(f"{node.id}/narrow"),
                                                 inputs=(table.inputs[0], *node.inputs[1:])))
    found.layouts = context.infer(graph, found)
    graph.replace(node.id, Convert(node.id, (Port(found.id),), origin=lookup.origin,
                                   destination_type=node.layouts[0].element_type.name))
    graph.remove_unread(table.id)
