"""Shuffles of channels between two branches move what is stored as bytes once."""
from __future__ import annotations

from clinfer.ops.concat import Concat
from clinfer.ops.shuffle_channels import ShuffleChannels
from clinfer.ops.shuffled_parts import ShuffledParts
from clinfer.ops.split import Split
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.insertion import inserted
from clinfer.topology import Port

_CHANNELS, _BRANCHES = 1, 2


def join_shuffles(graph: Graph, context: BuildContext) -> None:
    """A concatenation of two branches, the shuffle of its channels in two groups and the split of the result, as in
    ShuffleNet (Ma et al., "ShuffleNet V2", 2018), each read by the next alone, become one primitive if they are stored
    on a grid (`store_on_grids`): channels that fill no blocks of 16 then need no other format to be moved."""
    for node in graph:
        if node.id not in graph or not _shuffles_bytes(graph, node):
            continue
        joined = graph[node.inputs[0].primitive]
        if not _joins_branches(graph, joined) or not graph.is_read_only_by(joined.id, node.id):
            continue
        parts = _parts(graph, context, node)
        sizes = [graph.layout(part).shape[_CHANNELS] for part in parts]
        lengths = tuple(size for size in sizes if isinstance(size, int) and size and size % _BRANCHES == 0)
        if len(lengths) < len(parts):
            continue
        made = inserted(graph, context, node, ShuffledParts(
            graph.unique_id(f"{node.id}/parts"), joined.inputs, origin=node.primitive.origin, group=_BRANCHES,
            lengths=lengths))
        for index, part in enumerate(parts):
            graph.redirect(part, Port(made.primitive, index))
        graph.remove_unread(parts[0].primitive)


def _shuffles_bytes(graph: Graph, node: Node) -> bool:
    primitive = node.primitive
    return (isinstance(primitive, ShuffleChannels) and primitive.group == _BRANCHES and _is_plain(graph, node)
            and primitive.axis % graph.layout(Port(node.id)).rank == _CHANNELS
            and graph.element_type(Port(node.id)).grid is not None)


def _joins_branches(graph: Graph, node: Node) -> bool:
    primitive = node.primitive
    if not isinstance(primitive, Concat) or not _is_plain(graph, node) or len(node.inputs) != _BRANCHES:
        return False
    rank = graph.layout(Port(node.id)).rank
    sizes = {graph.layout(port).shape[_CHANNELS] for port in node.inputs}
    return primitive.axis % rank == _CHANNELS and len(sizes) == 1


def _parts(graph: Graph, context: BuildContext, node: Node) -> list[Port]:
    """The parts into which alone a tensor is split along its channels; the tensor itself, if something else is."""
    whole = Port(node.id)
    split = graph.users(node.id)[0]
    if not isinstance(split.primitive, Split) or not graph.is_read_only_by(node.id, split.id) or not _is_plain(
            graph, split) or split.primitive.output_count > _BRANCHES:
        return [whole]
    axis = split.primitive.axis_of(context.known_values(graph, split), graph.layout(whole).rank)
    return [Port(split.id, i) for i in range(split.primitive.output_count)] if axis == _CHANNELS else [whole]


def _is_plain(graph: Graph, node: Node) -> bool:
    return not (node.primitive.fused_ops or node.primitive.output_padding or node.on_host
                or node.id in graph.constants or graph.is_output(node.id))
