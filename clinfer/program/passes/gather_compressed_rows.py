"""Lets lookups of rows read compressed tables as the model stores them."""
from __future__ import annotations

from clinfer.ops.convert import Convert
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.gather import Gather
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.compressed_chain import CompressedChain, stay_floats
from clinfer.topology import Port, Primitive


def gather_compressed_rows(graph: Graph, context: BuildContext) -> None:
    """A Gather of rows of (constant of 8 bits - zero point) * scale looks the rows up first and decompresses them.

    Not for 4 bits, which lookups cannot store, nor for rows that are cut into groups, be it into one, nor for zero
    points that rows share: rows outside the table are zeros.
    """
    for node in graph:
        if not isinstance(node.primitive, Gather):
            continue
        found = CompressedChain.behind(graph, node.inputs[0], 1)
        reason = _refusal(graph, node, found, context) if isinstance(found, CompressedChain) else found
        if reason:
            stay_floats(graph, node, 0, reason)
        elif isinstance(found, CompressedChain):
            _replace(graph, node, found, context)


def _takes_rows(graph: Graph, node: Node, context: BuildContext) -> bool:
    axis = context.known_value(graph, node.inputs[2])
    return (node.primitive.batch_dims == 0 and graph.layout(node.inputs[0]).rank == 2  # type: ignore[attr-defined]
            and axis is not None and axis.reshape(-1).tolist() in ([0], [-2]))


def _refusal(graph: Graph, node: Node, chain: CompressedChain, context: BuildContext) -> str | None:
    """What keeps a lookup from a compressed table."""
    if not _takes_rows(graph, node, context):
        return "lookups decompress whole rows only"
    if graph.element_type(chain.weights).is_packed:
        return "lookups cannot store rows of 4 bits"
    if len(chain.shape) != 2:
        return "the table's rows are cut into groups"
    if chain.zero_point is not None and not _is_by_row(graph, chain, chain.zero_point):
        return "rows share a zero point, and rows outside the table are zeros"
    if not _is_by_row(graph, chain, chain.scale) and graph.layout(chain.scale).rank > node.layouts[0].rank:
        return "a single row has fewer axes than the scale that all rows share"
    return None


def _is_by_row(graph: Graph, chain: CompressedChain, port: Port) -> bool:
    """Whether a part of the chain has values for each row."""
    rows, shape = graph.layout(chain.weights).static_shape[0], graph.layout(port).static_shape
    return len(shape) == 2 and shape[0] == rows


def _replace(graph: Graph, node: Node, chain: CompressedChain, context: BuildContext) -> None:
    """Put lookups and the chain's arithmetic in the place of a lookup."""
    origin, kind = node.primitive.origin, node.layouts[0].element_type

    def add(primitive: Primitive) -> Port:
        added = graph.insert_before(node.id, primitive)
        added.layouts = context.infer(graph, added)
        return Port(added.id)

    def looked_up(port: Port, part: str) -> Port:
        """The rows of a part, as floats; all of it where its rows are one."""
        if _is_by_row(graph, chain, port):
            port = add(Gather(graph.unique_id(f"{node.id}/{part}"), (port, *node.inputs[1:]), origin=origin))
        if graph.element_type(port) == kind:
            return port
        return add(Convert(graph.unique_id(f"{node.id}/{part}/{kind}"), (port,), origin=origin,
                           destination_type=kind.name))

    def combined(mode: str, left: Port, right: Port) -> Port:
        return add(Eltwise(graph.unique_id(f"{node.id}/{mode}"), (left, right), origin=origin, mode=mode))

    result = looked_up(chain.weights, "rows")
    if chain.zero_point is not None:
        result = combined("Subtract", result, looked_up(chain.zero_point, "zero_point"))
    graph.redirect(Port(node.id), combined("Multiply", result, looked_up(chain.scale, "scale")))
    graph.remove_unread(node.id)
