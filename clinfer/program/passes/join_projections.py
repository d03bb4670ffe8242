"""Joins matrix products of one tensor with several constants whose results are read in parts, as query, key and value
are by attention."""
from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.layout import Layout
from clinfer.base.part import Part
from clinfer.ops.concat import Concat
from clinfer.ops.matmul import MatMul
from clinfer.ops.reshape import Reshape
from clinfer.ops.shared.parts import ReadsParts
from clinfer.program.constants import ConstantData
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.size_names import SizeNames
from clinfer.topology import Constant, Port


@dataclass(frozen=True)
class _Projection:
    """A product [..., N] whose only reader is a reshape to [..., heads, N / heads], which is read in parts alone."""

    product: Node
    reshape: Node
    heads: int

    @property
    def primitive(self) -> MatMul:
        return cast(MatMul, self.product.primitive)


def join_projections(graph: Graph, context: BuildContext) -> None:
    """Where products of one tensor with constants end in heads of one size, make one product of them.

    Leading sizes must be kept by the reshapes for every shape that can come.
    """
    groups: dict[Hashable, list[_Projection]] = {}
    names = _Names(graph, context)
    for node in graph:
        found = _projection(graph, node, names)
        if found is not None:
            groups.setdefault(_kind(graph, found), []).append(found)
    for group in groups.values():
        if len(group) > 1:
            _join(graph, group, context)


class _Names:
    """The names of sizes, made when they are first needed."""

    def __init__(self, graph: Graph, context: BuildContext) -> None:
        self._made: SizeNames | None = None
        self._graph, self._context = graph, context

    def are_equal(self, node: Node, other: Node, count: int) -> bool:
        """Whether the first sizes of two results are equal for certain."""
        if node.layouts[0].is_static and other.layouts[0].is_static:
            return node.layouts[0].shape[:count] == other.layouts[0].shape[:count]
        self._made = self._made or SizeNames(self._graph, self._context)
        return self._made.shape(Port(node.id))[:count] == self._made.shape(Port(other.id))[:count]


def _projection(graph: Graph, node: Node, names: _Names) -> _Projection | None:
    primitive = node.primitive
    if not isinstance(primitive, MatMul) or primitive.fused_ops or primitive.output_padding:
        return None
    if any(port.primitive not in graph.constants for port in node.inputs[1:]):
        return None
    users, product = graph.users(node.id), node.layouts[0]
    if graph.layout(node.inputs[1]).rank != 2 or len(users) != 1 or graph.is_output(node.id):
        return None
    reshape = users[0]
    if not isinstance(reshape.primitive, Reshape) or reshape.layouts[0].rank != product.rank + 1:
        return None
    heads = reshape.layouts[0].shape[-2]
    if not isinstance(heads, int) or not isinstance(reshape.layouts[0].shape[-1], int):
        return None
    if not _is_read_in_parts(graph, reshape) or not names.are_equal(node, reshape, product.rank - 1):
        return None
    return _Projection(node, reshape, heads)


def _is_read_in_parts(graph: Graph, node: Node) -> bool:
    return not graph.is_output(node.id) and not node.primitive.output_padding and all(
        isinstance(reader.primitive, ReadsParts) and index in reader.primitive.part_inputs
        for reader, index in graph.readers(Port(node.id)))


def _kind(graph: Graph, found: _Projection) -> Hashable:
    """Equal for products that can be joined."""
    primitive = found.primitive
    scaling = tuple((x.element_type, x.shape[0]) for x in (graph.layout(port) for port in _scaling(primitive)))
    codebook = primitive.quantisation.codebook if primitive.quantisation else ()
    return (primitive.inputs[0], primitive.transpose_a, primitive.transpose_b, found.product.layouts[0].element_type,
            graph.element_type(primitive.inputs[1]), scaling, codebook, found.reshape.layouts[0].shape[-1])


def _scaling(primitive: MatMul) -> tuple[Port, ...]:
    """The scales [groups, N] of compressed weights, and the zero points if there are any."""
    return tuple(primitive.inputs[i] for i in primitive.quantisation.inputs) if primitive.quantisation else ()


def _join(graph: Graph, group: list[_Projection], context: BuildContext) -> None:
    first = group[0]
    for found in group:
        for port in found.product.inputs[1:]:
            graph.bring_before(port.primitive, first.product.id)
    inputs = [first.primitive.inputs[0], *_join_weights(graph, group, context)]
    if any(x.primitive.bias_input for x in group):
        inputs.append(_constant(graph, first, context, "joined_bias", np.concatenate(
            [_bias(graph, x, context) for x in group]), first.product.layouts[0].element_type))
    product = _insert(graph, first, context, replace(
        first.primitive, id=graph.unique_id(f"{first.product.id}/joined"), inputs=tuple(inputs)))
    rank = first.product.layouts[0].rank
    pattern = (*(0,) * (rank - 1), sum(x.heads for x in group), first.reshape.layouts[0].shape[-1])
    shape = _constant(graph, first, context, "joined_shape", np.array(pattern, np.int64), ElementType.of("i64"))
    heads = _insert(graph, first, context, Reshape(
        graph.unique_id(f"{first.reshape.id}/joined"), (product, shape), origin=first.reshape.primitive.origin,
        special_zero=True))
    start = 0
    for found in group:
        _read_heads(graph, found, heads, Part.whole(rank + 1).cut(rank - 1, start, start + found.heads))
        start += found.heads


def _join_weights(graph: Graph, group: list[_Projection], context: BuildContext) -> list[Port]:
    """The weights side by side, with scales and zero points. Floats are joined where `propagate_constants` likes."""
    first = group[0].primitive
    axis, sides = 0 if first.transpose_b else 1, [x.primitive.inputs[1] for x in group]
    if first.quantisation is None:
        joined = Concat(graph.unique_id(f"{first.id}/joined_weights"), tuple(sides), origin=first.origin, axis=axis)
        return [_of_another_layer(graph, joined) or _insert(graph, group[0], context, joined)]
    columns = [_scaling(x.primitive) for x in group]
    return [_join_values(graph, group[0], context, "joined_weights", sides, axis)] + [
        _join_values(graph, group[0], context, name, list(parts), 1)
        for name, parts in zip(("joined_scale", "joined_zero_point"), zip(*columns, strict=True), strict=False)]


def _of_another_layer(graph: Graph, joined: Concat) -> Port | None:
    """The same weights joined for a group before, where layers share them."""
    return next((Port(user.id) for user in graph.users(joined.inputs[0].primitive)
                 if isinstance(user.primitive, Concat) and user.primitive.axis == joined.axis
                 and user.primitive.inputs == joined.inputs), None)


def _join_values(graph: Graph, first: _Projection, context: BuildContext, name: str, parts: list[Port],
                 axis: int) -> Port:
    values = [graph.constants[port.primitive].on_host(context.stream) for port in parts]
    return _constant(graph, first, context, name, np.concatenate(values, axis), graph.element_type(parts[0]))


def _insert(graph: Graph, first: _Projection, context: BuildContext, primitive: MatMul | Concat | Reshape) -> Port:
    node = graph.insert_before(first.product.id, primitive)
    node.layouts = context.infer(graph, node)
    return Port(node.id)


def _constant(graph: Graph, first: _Projection, context: BuildContext, name: str, value: np.ndarray,
              kind: ElementType) -> Port:
    primitive = Constant(graph.unique_id(f"{first.product.id}/{name}"), origin=first.primitive.origin, value=value,
                         element_type=kind)
    node = graph.insert_before(first.product.id, primitive)
    node.layouts = (Layout.planar(value.shape, kind),)
    graph.constants[node.id] = ConstantData(node.layouts[0], array=value)
    return Port(node.id)


def _bias(graph: Graph, found: _Projection, context: BuildContext) -> np.ndarray:
    """The bias of a product, zeros where it has none."""
    index, layout = found.primitive.bias_input, found.product.layouts[0]
    if index is None:
        return np.zeros(cast(int, layout.shape[-1]), layout.element_type.numpy)
    return graph.constants[found.product.inputs[index].primitive].on_host(context.stream)


def _read_heads(graph: Graph, found: _Projection, heads: Port, own: Part) -> None:
    """Let the readers of a projection read its part of the joined one."""
    for reader, index in graph.readers(Port(found.reshape.id)):
        primitive = reader.primitive
        assert isinstance(primitive, ReadsParts)
        graph.replace(reader.id, primitive.reading(index, heads, primitive.part(index, len(own.axes)).behind(own)))
    graph.history.redirected(found.product.id, graph[heads.primitive].primitive)
    for id in (found.reshape.id, found.product.id):
        graph.remove(id)
