"""Moves element-wise primitives into the primitive whose result they work on."""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Shape
from clinfer.kernels.selector import ANYTHING
from clinfer.ops.reshape import Unsqueeze
from clinfer.program.constants import ConstantData
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.size_names import SizeNames, is_kept_if_it_fits, may_keep
from clinfer.topology import Before, Constant, FusedOp, Input, Port

MOST_READ = 8
"""Tensors that all fused operations of one host read at most: each is a kernel argument and some registers."""


def fuse_eltwise(graph: Graph, context: BuildContext) -> None:
    """Where a primitive that is an expression of floats is the only reader of a host's result, and keeps its shape.

    A host (`takes_fused_ops`) may be element-wise itself. What else a fused operation reads must be of the host's
    shape or stretch to it for every shape that can come; where the host's kernels stretch its own inputs too
    (`fused_ops_stretch`), for some shape. What several primitives read that have become one is a host in the end. A
    primitive that a kernel is forced on stays. Why one stays is kept.
    """
    names = SizeNames(graph, context)
    for node in graph:
        _fuse_if_possible(graph, node, names, context)
    for node in reversed(list(graph)):
        # What has joined a later one leaves an earlier one with a single reader.
        if node.primitive.fused_ops:
            _fuse_if_possible(graph, node, names, context)


def _fuse_if_possible(graph: Graph, node: Node, names: SizeNames, context: BuildContext) -> None:
    if node.id not in graph or node.on_host or node.id in graph.constants or not _can_be_fused(graph, node):
        return
    if context.options.forced(node.id) != ANYTHING:
        return
    host = _host(graph, node, names, context)
    if host is not None:
        names.replace(Port(host.id), Port(node.id))
        _fuse(graph, host, node, context)


def _can_be_fused(graph: Graph, node: Node) -> bool:
    """Whether a node, its fused operations included, is an expression of floats of one arithmetic type."""
    types = tuple(graph.element_type(port) for port in node.inputs)
    if len({kind.cl_compute for kind in (*types, *(x.element_type for x in node.layouts))}) != 1:
        return False
    return node.primitive.fused_text(types[:node.primitive.own_input_count]) is not None


def _host(graph: Graph, node: Node, names: SizeNames, context: BuildContext) -> Node | None:
    """The last of those that a node can be fused into, one whose shape is certain if there is one; before all, one
    that can itself be fused into another in the end, and last, one that moves what may as well stay where it is."""
    candidates = {port.primitive: graph[port.primitive] for port in node.inputs}
    refusals = {host.id: _refusal(graph, host, node, names) for host in candidates.values()}
    fitting = [host for id, host in candidates.items() if refusals[id] is None]
    if not fitting:
        graph.history.stayed(node.id, tuple((id, reason) for id, reason in refusals.items() if reason))
    certain = [host for host in fitting if _is_kept(host, node, names)]
    joining = [host for host in fitting if _can_be_fused(graph, host) and any(
        host is not other and _is_as_large(names, host, other) for other in certain)]
    found = joining or certain or fitting
    return graph.last_of([host for host in found if not _moves(graph, host, context)] or found)


def _moves(graph: Graph, host: Node, context: BuildContext) -> bool:
    """Whether a node without fused operations might need no launch."""
    primitive = host.primitive
    return not primitive.fused_ops and (primitive.only_moves or context.as_part(graph, Port(host.id)) is not None)


def _is_as_large(names: SizeNames, node: Node, host: Node) -> bool:
    """Whether a node's result need not be stretched to the host's, so that none of its elements is computed twice."""
    shape, whole = names.shape(Port(node.id)), names.shape(Port(host.id))
    return len(shape) == len(whole) and all(size != 1 or other == 1 for size, other in zip(shape, whole, strict=True))


def _refusal(graph: Graph, host: Node, node: Node, names: SizeNames) -> str | None:
    """Why a node cannot be fused into one that it reads, or None."""
    primitive = host.primitive
    if host.id in graph.constants or host.on_host or isinstance(primitive, Input):
        return "known before the kernels run"
    if not primitive.takes_fused_ops:
        return f"{type(primitive).__name__} takes no fused operations"
    if primitive.output_padding:
        return "its output is padded"
    if not graph.is_read_only_by(host.id, node.id):
        return "it has other readers"
    others = {port for port in node.inputs if port.primitive != host.id}
    if len(host.inputs) - primitive.own_input_count + len(others) > MOST_READ:
        return f"its fused operations would read more than {MOST_READ} tensors"
    if _is_kept(host, node, names):
        return None
    if not primitive.fused_ops_stretch:
        return "its result might be stretched"
    shape, read = _shapes(host, node, names)
    return None if may_keep(shape, read) else "its result is stretched"


def _is_kept(host: Node, node: Node, names: SizeNames) -> bool:
    return is_kept_if_it_fits(*_shapes(host, node, names))


def _shapes(host: Node, node: Node, names: SizeNames) -> tuple[Shape, tuple[Shape, ...]]:
    """The shapes of the host's result and of what else the node reads."""
    return names.shape(Port(host.id)), tuple(names.shape(port) for port in node.inputs if port.primitive != host.id)


def _fuse(graph: Graph, host: Node, node: Node, context: BuildContext) -> None:
    """Let the host do a node's work, fused operations included."""
    graph.move_before(host.id, node.id)
    inputs, begun = list(host.inputs), len(host.primitive.fused_ops)
    places: dict[Port, int] = {}

    def operand(read: int | Before | None, is_own: bool) -> int | Before | None:
        """What the node, or a fused operation of it, reads, as the host's fused operations read it."""
        if not isinstance(read, int):
            return read if read is None else Before(begun + 1 + read.fused)
        port = node.inputs[read]
        if port.primitive == host.id:
            return None if is_own else Before(begun)
        if port not in places:
            places[port] = len(inputs)
            inputs.append(_lifted(graph, port, host, context))
        return places[port]

    own = tuple(operand(read, True) for read in range(node.primitive.own_input_count))
    fused_ops = [FusedOp(replace(node.primitive, inputs=(), fused_ops=()), own)]
    fused_ops += [replace(fused, operands=tuple(operand(read, False) for read in fused.operands))
              for fused in node.primitive.fused_ops]
    graph.replace(host.id, replace(host.primitive, inputs=tuple(inputs),
                                   fused_ops=(*host.primitive.fused_ops, *fused_ops),
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
