"""Nodes that passes put in front of others."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.layout import Layout
from clinfer.ops.transpose import Transpose
from clinfer.program.constants import ConstantData
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Constant, Port, Primitive


def inserted(graph: Graph, context: BuildContext, reader: Node, primitive: Primitive) -> Port:
    """The result of a primitive that is put in front of a node."""
    node = graph.insert_before(reader.id, primitive)
    node.layouts = context.infer(graph, node)
    return Port(node.id)


def constant_before(graph: Graph, reader: Node, name: str, values: np.ndarray, kind: ElementType | None = None) -> Port:
    """A constant that is put in front of a node; `kind`: None, that of the array's type."""
    kind = kind or ElementType.of_numpy(values.dtype)
    node = graph.insert_before(reader.id, Constant(graph.unique_id(f"{reader.id}/{name}"), value=np.empty(0),
                                                   origin=reader.primitive.origin, element_type=kind))
    node.layouts = (Layout.planar(values.shape, kind),)
    graph.constants[node.id] = ConstantData(node.layouts[0], array=values)
    return Port(node.id)


def transposed(graph: Graph, context: BuildContext, reader: Node, port: Port, order: Sequence[int]) -> Port:
    """A tensor with its axes in another order, made in front of a node."""
    axes = constant_before(graph, reader, "order", np.array(order, np.int64))
    return inserted(graph, context, reader, Transpose(graph.unique_id(f"{port}/turned"), (port, axes),
                                                      origin=graph[port.primitive].primitive.origin))
