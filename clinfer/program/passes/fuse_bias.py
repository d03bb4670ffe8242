"""Moves a per-channel constant that is added to a convolution or matrix product into the primitive."""
from __future__ import annotations

from dataclasses import replace

from clinfer.base.layout import Layout
from clinfer.ops.eltwise import is_add
from clinfer.program.constants import ConstantData
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Constant, Port


def fuse_bias(graph: Graph, context: BuildContext) -> None:
    """Where a node's `bias_axis` names a channel axis and its only reader adds one value per channel."""
    for node in graph:
        if node.id not in graph or node.primitive.bias_axis is None:
            continue
        add = _only_reader(graph, node)
        if add is None or not is_add(add.primitive):
            continue
        port = _bias_port(graph, node, add)
        if port is not None:
            _fuse(graph, node, add, port, context)


def _only_reader(graph: Graph, node: Node) -> Node | None:
    users = graph.users(node.id)
    if graph.is_output(node.id) or len(users) != 1 or len(graph.readers(Port(node.id))) != 1:
        return None
    return users[0]


def _bias_port(graph: Graph, node: Node, add: Node) -> Port | None:
    """The constant that the addition adds, if it holds one value per channel."""
    other = [port for port in add.inputs if port.primitive != node.id]
    if len(other) != 1 or other[0].primitive not in graph.constants:
        return None
    layout, result = graph.layout(other[0]), node.layouts[0]
    axis = (node.primitive.bias_axis or 0) % result.rank
    channels = result.shape[axis]
    lifted = (1,) * (result.rank - layout.rank) + layout.shape
    wanted = tuple(channels if i == axis else 1 for i in range(result.rank))
    if not isinstance(channels, int) or lifted != wanted or layout.element_type != result.element_type:
        return None
    return other[0]


def _fuse(graph: Graph, node: Node, add: Node, port: Port, context: BuildContext) -> None:
    data = graph.constants[port.primitive]
    flat = data.on_host(context.stream).reshape(-1)
    layout = Layout.planar(flat.shape, data.layout.element_type)
    bias = graph.insert_before(node.id, Constant(graph.unique_id(f"{node.id}/bias"), origin=add.primitive.origin,
                                                 value=flat, element_type=layout.element_type))
    bias.layouts = (layout,)
    graph.constants[bias.id] = ConstantData(layout, array=flat)
    graph.replace(node.id, replace(node.primitive, inputs=(*node.inputs, Port(bias.id)),
                                   output_padding=add.primitive.output_padding))
    node.layouts = add.layouts
    graph.redirect(Port(add.id), Port(node.id))
    graph.remove(add.id)
