"""Makes a shuffle of channels one primitive, as models write it out (Zhang et al., "ShuffleNet: An Extremely Efficient
Convolutional Neural Network for Mobile Devices", 2017)."""
from __future__ import annotations

from clinfer.ops.reshape import Reshape
from clinfer.ops.shuffle_channels import ShuffleChannels
from clinfer.ops.transpose import Transpose
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.insertion import inserted
from clinfer.topology import Port, Primitive


def fuse_shuffles(graph: Graph, context: BuildContext) -> None:
    """A Reshape that makes two axes of the channels, a Transpose that exchanges them and a Reshape that joins them,
    each read by the next alone: it then works in the format of what is around it. All sizes must be known but the
    number of pictures."""
    for node in graph:
        if node.id not in graph or not _is_plain(node, Reshape):
            continue
        turned = graph[node.inputs[0].primitive]
        if not _is_plain(turned, Transpose) or not graph.is_read_only_by(turned.id, node.id):
            continue
        split = graph[turned.inputs[0].primitive]
        if not _is_plain(split, Reshape) or not graph.is_read_only_by(split.id, turned.id):
            continue
        groups = _groups(graph, split, turned, node, context)
        if groups is not None:
            shuffled = inserted(graph, context, node, ShuffleChannels(
                graph.unique_id(f"{turned.id}/shuffled"), split.inputs[:1], origin=turned.primitive.origin, axis=1,
                group=groups))
            graph.redirect(Port(node.id), shuffled)
            graph.remove_unread(node.id)


def _is_plain(node: Node, kind: type[Primitive]) -> bool:
    return isinstance(node.primitive, kind) and not node.primitive.fused_ops and not node.primitive.output_padding


def _groups(graph: Graph, split: Node, turned: Node, joined: Node, context: BuildContext) -> int | None:
    """The groups of the channels that are shuffled; None: it is something else."""
    _, *given = graph.layout(split.inputs[0]).shape or (None,)
    _, *halves = split.layouts[0].shape or (None,)
    _, *whole = joined.layouts[0].shape or (None,)
    part, rank = context.as_part(graph, Port(turned.id)), len(halves) + 1
    if part is None or part.cuts or part.axes != (0, 2, 1, *range(3, rank)) or len(given) != rank - 2:
        return None
    sizes = [size for size in (*given, *halves) if isinstance(size, int)]
    if len(sizes) < len(given) + len(halves) or given != whole or halves[2:] != given[1:]:
        return None
    groups, channels = sizes[len(given):len(given) + 2]
    return groups if groups * channels == given[0] and groups > 0 else None
