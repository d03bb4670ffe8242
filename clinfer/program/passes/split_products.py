"""Makes several products of one whose columns are read in parts, as gates and what they open are, or query, key and
value."""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from clinfer.base.layout import Layout
from clinfer.base.part import Part
from clinfer.ops.matmul import MatMul
from clinfer.ops.reshape import Reshape
from clinfer.ops.shared.parts import ReadsParts
from clinfer.program.constants import ConstantData
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Constant, Port


@dataclass(frozen=True)
class _Columns:
    """The columns of a product of which a tensor is made."""

    port: Port
    start: int
    stop: int


def split_products(graph: Graph, context: BuildContext) -> None:
    """Where a product with constants is read in parts of its columns alone, none twice, and these by element-wise
    primitives, which can then become fused operations of the products, or as heads, for which `join_projections` may
    join them."""
    for node in graph:
        if node.id not in graph or not _is_constant_product(graph, node):
            continue
        columns = _columns(graph, node, context)
        if columns and all(_is_worth(graph, x.port) for x in columns):
            _split(graph, node, columns, context)


def _is_constant_product(graph: Graph, node: Node) -> bool:
    primitive = node.primitive
    return (isinstance(primitive, MatMul) and not primitive.fused_ops and not primitive.output_padding
            and not graph.is_output(node.id) and all(
                port.primitive in graph.constants and graph.element_type(port).is_float for port in node.inputs[1:])
            and graph.layout(node.inputs[1]).rank == 2 and node.layouts[0].rank >= 2)


def _columns(graph: Graph, node: Node, context: BuildContext) -> list[_Columns]:
    """All that is read of a product, if these are parts of its columns none of which overlaps another."""
    last = node.layouts[0].rank - 1
    found = []
    for user in graph.users(node.id):
        for port in (Port(user.id, index) for index in range(len(user.layouts))):
            part = context.as_part(graph, port) if user.inputs[0] == Port(node.id) else None
            if part is None or part.axes != Part.whole(last + 1).axes or [axis for axis, _, _ in part.cuts] != [last]:
                return []
            found += [_Columns(port, start, stop) for _, start, stop in part.cuts if graph.readers(port)]
    found.sort(key=lambda columns: columns.start)
    ends = [0, *(columns.stop for columns in found)]
    return found if all(end <= columns.start < columns.stop for end, columns in zip(ends, found, strict=False)) else []


def _is_worth(graph: Graph, port: Port) -> bool:
    """Whether the readers of a part read it as well, or better, where it is a tensor of its own."""
    readers = [reader for reader, _ in graph.readers(port)]
    return not graph.is_output(port.primitive) and (
        all(_is_elementwise(graph, reader) for reader in readers)
        or (len(readers) == 1 and _makes_heads(graph, readers[0])))


def _is_elementwise(graph: Graph, node: Node) -> bool:
    types = tuple(graph.element_type(port) for port in node.inputs)
    return not node.on_host and node.primitive.fused_text(types[:node.primitive.own_input_count]) is not None


def _makes_heads(graph: Graph, node: Node) -> bool:
    """Whether a tensor is cut into heads that are read in parts alone."""
    layout = node.layouts[0]
    return (isinstance(node.primitive, Reshape) and layout.rank == graph.layout(node.inputs[0]).rank + 1
            and all(isinstance(size, int) for size in layout.shape[-2:]) and not graph.is_output(node.id)
            and all(isinstance(reader.primitive, ReadsParts) and index in reader.primitive.part_inputs
                    for reader, index in graph.readers(Port(node.id))))


def _split(graph: Graph, node: Node, columns: list[_Columns], context: BuildContext) -> None:
    for found in columns:
        primitive = cast(MatMul, node.primitive)
        own = tuple(_cut(graph, node, index, found, context) for index in range(1, len(node.inputs)))
        part = graph.insert_before(node.id, replace(
            primitive, id=graph.unique_id(f"{node.id}/columns"), inputs=(node.inputs[0], *own)))
        part.layouts = context.infer(graph, part)
        graph.redirect(found.port, Port(part.id))
    for user in {found.port.primitive for found in columns}:
        graph.remove_unread(user)


def _cut(graph: Graph, node: Node, index: int, columns: _Columns, context: BuildContext) -> Port:
    """A constant input of the product for some of its columns."""
    data = graph.constants[node.inputs[index].primitive]
    array = data.on_host(context.stream)
    along_rows = index > 1 or cast(MatMul, node.primitive).transpose_b
    value = np.ascontiguousarray(array[columns.start:columns.stop] if along_rows
                                 else array[:, columns.start:columns.stop])
    layout = Layout.planar(value.shape, data.layout.element_type)
    made = graph.insert_before(node.id, Constant(
        graph.unique_id(f"{node.inputs[index]}/columns"), origin=node.primitive.origin, value=value,
        element_type=layout.element_type))
    made.layouts = (layout,)
    graph.constants[made.id] = ConstantData(layout, array=value)
    return Port(made.id)
