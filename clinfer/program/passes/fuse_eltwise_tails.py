"""Moves element-wise primitives into the primitive whose result they work on."""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.kernels.selector import ANYTHING
from clinfer.ops.reshape import Unsqueeze
from clinfer.program.constants import ConstantData
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.size_names import SizeNames, is_kept
from clinfer.topology import Constant, Port, Tail

MOST_READ = 8
"""Tensors that all tails of one host read at most: each is a kernel argument and some registers."""


def fuse_eltwise_tails(graph: Graph, context: BuildContext) -> None:
    """Where a primitive that is an expression of floats is the only reader of a host's result, and keeps its shape.

    A host (`takes_tails`) may be element-wise itself. What else a tail reads must be of the host's shape or
    stretch to it for every shape that can come. A primitive that a kernel is forced on stays.
    """
    names = SizeNames(graph, context)
    for node in graph:
        if node.on_host or node.id in graph.constants or context.options.forced(node.id) != ANYTHING:
            continue
        host = _host(graph, node, names)
        if host is not None:
            _fuse(graph, host, node, context)


def _host(graph: Graph, node: Node, names: SizeNames) -> Node | None:
    """The last of those that a node can be fused into."""
    types = tuple(graph.element_type(port) for port in node.inputs)
    if len({kind.cl_compute for kind in (*types, *(x.element_type for x in node.layouts))}) != 1:
        return None
    if node.primitive.tails or node.primitive.tail_text(types) is None:
        return None
    candidates = [graph[port.primitive] for port in dict.fromkeys(node.inputs)]
    fitting = [host for host in candidates if _takes(graph, host, node, names)]
    return fitting[0] if len(fitting) == 1 else graph.last_of(fitting)


def _takes(graph: Graph, host: Node, node: Node, names: SizeNames) -> bool:
    primitive = host.primitive
    if not primitive.takes_tails or primitive.output_padding or host.on_host or host.id in graph.constants:
        return False
    if graph.is_output(host.id) or [user.id for user in graph.users(host.id)] != [node.id]:
        return False
    others = [port for port in node.inputs if port.primitive != host.id]
    if len(host.inputs) - primitive.own_input_count + len(others) > MOST_READ:
        return False
    return is_kept(names.shape(Port(host.id)), tuple(names.shape(port) for port in others))


def _fuse(graph: Graph, host: Node, node: Node, context: BuildContext) -> None:
    graph.move_before(host.id, node.id)
    inputs = list(host.inputs)
    operands: list[int | None] = []
    for port in node.inputs:
        if port.primitive == host.id:
            operands.append(None)
        else:
            operands.append(len(inputs))
            inputs.append(_lifted(graph, port, host, context))
    tail = Tail(replace(node.primitive, inputs=()), tuple(operands))
    graph.replace(host.id, replace(host.primitive, inputs=tuple(inputs), tails=(*host.primitive.tails, tail),
                                   output_padding=node.primitive.output_padding))
    host.layouts = node.layouts
    graph.redirect(Port(node.id), Port(host.id))
    graph.remove(node.id)


def _lifted(graph: Graph, port: Port, host: Node, context: BuildContext) -> Port:
    """A tensor under as many axes as the host's result has."""
    missing = host.layouts[0].rank - graph.layout(port).rank
    if not missing:
        return port
    axes = np.arange(missing, dtype=np.int64)
    origin = graph[port.primitive].primitive.origin
    named = graph.insert_before(host.id, Constant(graph.unique_id(f"{port}/axes"), origin=origin, value=axes,
                                                  element_type=ElementType.of("i64")))
    named.layouts = context.infer(graph, named)
    graph.constants[named.id] = ConstantData(named.layouts[0], array=axes)
    raised = graph.insert_before(host.id, Unsqueeze(graph.unique_id(f"{port}/lifted"), (port, Port(named.id)),
                                                    origin=origin))
    raised.layouts = context.infer(graph, raised)
    return Port(raised.id)
