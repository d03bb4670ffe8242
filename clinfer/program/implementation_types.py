"""Which implementation type computes a node: `ocl` (kernels of its operation) or `host` (NumPy).

Here it is decided what the host computes; among kernels, the selector decides. The type that does not compute a node
has a reason.
"""
from __future__ import annotations

from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.kernels.contract import HOST, OCL
from clinfer.ops import kernels_of
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node

HOST_ELEMENTS = 1024
_NOT_BY_NUMPY = "NumPy does not compute it"


def is_for_host(graph: Graph, node: Node, context: BuildContext) -> bool:
    """Whether the type of a node is `host`, given those of the nodes before it; ClinferError where it cannot be what
    the options demand."""
    wanted, primitive = context.options.forced(node.id).type, node.primitive
    refusal = None if primitive.can_evaluate or primitive.computed_on_host else _NOT_BY_NUMPY
    if wanted not in ("", HOST):
        refusal = "the host computes it whenever it runs" if primitive.computed_on_host else None
    if wanted and refusal is not None:
        raise ClinferError(f"the forced implementation type {wanted!r} cannot be used", where=primitive.where,
                           values={"reason": refusal}, hint="force another type, or none")
    return primitive.can_evaluate and (wanted == HOST or (not wanted and _host_refusal(graph, node) is None))


def refused_types(graph: Graph, node: Node) -> tuple[tuple[str, str], ...]:
    """The types that do not compute a node, each with the reason; nothing for a node that nothing computes."""
    if not node.by_host and node.selection is None:
        return ()
    if node.selection is not None:
        return ((HOST, _host_refusal(graph, node) or "another type is forced"),)
    return ((OCL, "the host has what it reads" if kernels_of(node.primitive) else "no kernel computes it"),)


def _host_refusal(graph: Graph, node: Node) -> str | None:
    """Why the host leaves a node to the device unless it is told otherwise, or None."""
    if not node.primitive.can_evaluate:
        return _NOT_BY_NUMPY
    if node.primitive.reads_shapes_only:
        return None
    sources = [graph[port.primitive] for port in node.inputs]
    if not all(source.on_host or source.id in graph.constants for source in sources):
        return "it reads what the device has"
    if not any(source.on_host for source in sources):
        return "nothing that it reads is computed on the host"
    return None if all(map(_is_arithmetic, node.layouts)) else f"more than {HOST_ELEMENTS} elements"


def _is_arithmetic(layout: Layout) -> bool:
    """Whether a tensor may be part of shape arithmetic: a number, a row of numbers, or small."""
    return layout.rank <= 1 or is_small(layout)


def is_small(layout: Layout) -> bool:
    """Whether the host may well compute a tensor."""
    return layout.is_static and layout.count <= HOST_ELEMENTS
