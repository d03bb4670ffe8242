"""Attention over more than two batch axes, as that of windows, becomes attention over two."""
from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from clinfer.base.shape import Shape
from clinfer.kernels.selector import ANYTHING
from clinfer.ops.reshape import Reshape
from clinfer.ops.sdpa import ScaledDotProductAttention
from clinfer.ops.shape_of import ShapeOf
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.insertion import constant_before, inserted
from clinfer.program.size_names import SizeNames
from clinfer.topology import Port

_SCALE = 4
"""The input of attention that has no batch axes."""
_KEPT = 3
"""The last axes of attention, which stay: heads, rows and columns."""


def fold_batches(graph: Graph, context: BuildContext) -> None:
    """All batch axes but the last become one, by views of the memory; kernels but the reference know two.

    Each input has all of these axes as the result has them, or none but those of size 1, and at most one of its sizes
    is open behind that. Of the result one size is open as well, or it has the shape of the queries.
    """
    names: SizeNames | None = None
    for node in graph:
        if (isinstance(node.primitive, ScaledDotProductAttention) and node.layouts[0].rank > _KEPT + 1
                and context.options.forced(node.id) == ANYTHING):
            names = names or SizeNames(graph, context)
            _fold(graph, context, node, names)


def _fold(graph: Graph, context: BuildContext, node: Node, names: SizeNames) -> None:
    result, query = names.shape(Port(node.id)), names.shape(node.inputs[0])
    shapes = {i: _folded(names.shape(port), result[:-_KEPT]) for i, port in enumerate(node.inputs) if i != _SCALE}
    if None in shapes.values() or (_pattern(result) is None and result != query):
        return
    attention = inserted(graph, context, node, replace(
        node.primitive, id=graph.unique_id(f"{node.id}/folded"),
        inputs=tuple(_reshaped(graph, context, node, port, shapes.get(i)) for i, port in enumerate(node.inputs))))
    sizes = (inserted(graph, context, node, ShapeOf(graph.unique_id(f"{node.id}/sizes"), node.inputs[:1]))
             if _pattern(result) is None else _numbers(graph, node, result))
    whole = inserted(graph, context, node, Reshape(
        graph.unique_id(f"{node.id}/unfolded"), (attention, sizes), origin=node.primitive.origin))
    graph.redirect(Port(node.id), whole)
    graph.remove_unread(node.id)


def _folded(shape: Shape, batch: Shape) -> Shape | None:
    """The shape with one axis in place of those that the result has before the last three; None where these differ or a
    constant does not tell it."""
    own = shape[:-_KEPT]
    is_one = all(size == 1 for size in own)
    if is_one and len(own) < 2:
        return shape
    found = (prod(own), *shape[-_KEPT:])
    return found if (is_one or own == batch) and _pattern(found) is not None else None


def _pattern(shape: Shape) -> list[int] | None:
    """What a Reshape to a shape of elements reads; None if more than one size is open, or one is 0."""
    pattern = [size if isinstance(size, int) else -1 for size in shape]
    return None if pattern.count(-1) > 1 or 0 in pattern else pattern


def _numbers(graph: Graph, node: Node, shape: Shape) -> Port:
    return constant_before(graph, node, "shape", np.array(_pattern(shape), np.int64))


def _reshaped(graph: Graph, context: BuildContext, node: Node, port: Port, shape: Shape | None) -> Port:
    if shape is None or len(shape) == graph.layout(port).rank:
        return port
    return inserted(graph, context, node, Reshape(
        graph.unique_id(f"{port.primitive}/folded"), (port, _numbers(graph, node, shape)),
        origin=node.primitive.origin))
