"""Makes the division by the root of the mean square one primitive."""
from __future__ import annotations

from dataclasses import dataclass, replace

from clinfer.ops.convert import Convert
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.mvn import MVN
from clinfer.ops.reduce import Reduce
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Port


@dataclass(frozen=True)
class _Rms:
    """data / sqrt(mean(data^2, axes) + eps)."""

    data: Port
    axes: Port
    eps: float


def fuse_rms(graph: Graph, context: BuildContext) -> None:
    """Where a tensor is multiplied with or divided by what is made of the mean of its own squares.

    What others read of the way there stays for them. Numbers of more axes than the data put axes before its own.
    """
    for node in graph:
        found = _found(graph, node, context) if isinstance(node.primitive, Eltwise) else None
        if found is not None and graph.layout(found.data).rank == node.layouts[0].rank:
            _fuse(graph, node, found)


def _found(graph: Graph, node: Node, context: BuildContext) -> _Rms | None:
    mode = _mode(node)
    if mode == "Divide":
        data, root = node.inputs
        return _mean_square(graph, data, _root(graph, root, context), context)
    if mode == "Multiply":
        for data, factor in (node.inputs, node.inputs[::-1]):
            found = _mean_square(graph, data, _inverse_root(graph, factor, context), context)
            if found is not None:
                return found
    return None


def _mode(node: Node) -> str:
    """Which element-wise operation it is; none where fused operations follow it."""
    primitive = node.primitive
    plain = isinstance(primitive, Eltwise) and not primitive.fused_ops and not node.on_host
    return primitive.mode if plain and isinstance(primitive, Eltwise) else ""


def _inverse_root(graph: Graph, port: Port, context: BuildContext) -> Port | None:
    """v of v^-0.5, 1 / sqrt(v) or sqrt(v)^-1."""
    node = graph[port.primitive]
    mode = _mode(node)
    if mode == "Power":
        exponent = context.number(graph, node.inputs[1])
        if exponent == -0.5:
            return node.inputs[0]
        return _root(graph, node.inputs[0], context) if exponent == -1 else None
    if mode == "Divide" and context.number(graph, node.inputs[0]) == 1:
        return _root(graph, node.inputs[1], context)
    return None


def _root(graph: Graph, port: Port, context: BuildContext) -> Port | None:
    """v of sqrt(v) or v^0.5."""
    node = graph[port.primitive]
    if _mode(node) == "Sqrt" or (_mode(node) == "Power" and context.number(graph, node.inputs[1]) == 0.5):
        return node.inputs[0]
    return None


def _mean_square(graph: Graph, data: Port, port: Port | None, context: BuildContext) -> _Rms | None:
    """What `port` is, if it is the mean of the squares of `data` plus a number."""
    if port is None or _mode(add := graph[port.primitive]) != "Add":
        return None
    for mean_port, eps_port in (add.inputs, add.inputs[::-1]):
        mean, eps = graph[mean_port.primitive], context.number(graph, eps_port)
        primitive = mean.primitive
        if eps is None or not isinstance(primitive, Reduce) or primitive.mode != "Mean" or not primitive.keep_dims:
            continue
        if _is_square(graph, mean.inputs[0], data, context) and mean.inputs[1].primitive in graph.constants:
            return _Rms(data, mean.inputs[1], eps)
    return None


def _is_square(graph: Graph, port: Port, data: Port, context: BuildContext) -> bool:
    node = graph[port.primitive]
    if _mode(node) == "Power":
        return node.inputs[0] == data and context.number(graph, node.inputs[1]) == 2
    return _mode(node) == "Multiply" and node.inputs == (data, data)


def _fuse(graph: Graph, node: Node, found: _Rms) -> None:
    primitive = node.primitive
    read = node.inputs
    graph.replace(node.id, MVN(node.id, (found.data, found.axes), output_padding=primitive.output_padding,
                               origin=primitive.origin, eps=found.eps, centre=False))
    for port in read:
        if port != found.data:
            graph.remove_unread(port.primitive)
    _keep_narrow(graph, node)


def _keep_narrow(graph: Graph, node: Node) -> None:
    """Kernels compute in f32 anyway: what is widened before and narrowed behind is read and written as it is."""
    source, users = graph[node.inputs[0].primitive], graph.users(node.id)
    if not _is_convert(source) or len(users) != 1 or not _is_convert(users[0]) or graph.is_output(node.id):
        return
    narrow, wide = graph.element_type(source.inputs[0]), source.layouts[0].element_type
    if wide.name != "f32" or narrow.name not in ("f16", "bf16") or users[0].layouts[0].element_type != narrow:
        return
    graph.replace(node.id, replace(node.primitive, inputs=(source.inputs[0], *node.inputs[1:]),
                                   output_padding=users[0].primitive.output_padding))
    node.layouts = users[0].layouts
    graph.redirect(Port(users[0].id), Port(node.id))
    graph.remove(users[0].id)
    graph.remove_unread(source.id)


def _is_convert(node: Node) -> bool:
    return isinstance(node.primitive, Convert) and not node.primitive.fused_ops and not node.on_host
