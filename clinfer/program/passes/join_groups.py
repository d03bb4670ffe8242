"""Convolves several groups of channels as one, where those of a group do not fill what kernels take at once."""
from __future__ import annotations

from dataclasses import replace
from math import gcd

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.kernels.selector import ANYTHING
from clinfer.ops.concat import Concat
from clinfer.ops.convolution import GroupConvolution
from clinfer.ops.convolution.kernels.cpu import NARROW_GROUPS
from clinfer.ops.shared.channel_tiles import BLOCK
from clinfer.ops.shared.tensor_cores import CHUNK, TILES
from clinfer.ops.split import VariadicSplit
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.insertion import constant_before, inserted
from clinfer.topology import Port

_MOST_COLUMNS = max(tile.columns for tile in TILES)

def join_groups(graph: Graph, context: BuildContext) -> None:
    """Where groups are convolved with constant weights, floats or compressed ones, the fewest groups that fill blocks
    of channels together (CPUs), or tiles of tensor cores, become one, between whose parts the weights are 0. The last
    groups, where too few are left, are a convolution of their own."""
    for node in graph:
        if isinstance(node.primitive, GroupConvolution) and _is_joinable(graph, context, node):
            joined = _joined(graph, context, node)
            if joined > 1:
                _join(graph, context, node, node.primitive, joined)


def _is_joinable(graph: Graph, context: BuildContext, node: Node) -> bool:
    primitive = node.primitive
    if any(port.primitive not in graph.constants for port in node.inputs[1:]) or primitive.output_padding \
            or primitive.fused_ops or context.options.forced(node.id) != ANYTHING:
        return False
    return graph.element_type(node.inputs[0]).is_float


def _joined(graph: Graph, context: BuildContext, node: Node) -> int:
    """How many groups become one."""
    number, outputs, inputs, *_ = graph.layout(node.inputs[1]).static_shape
    device, kind = context.engine.capabilities, graph.element_type(node.inputs[0])
    if device.device_type == "CPU":
        is_narrow = inputs == outputs and inputs in NARROW_GROUPS
        return 1 if is_narrow else min(BLOCK // gcd(BLOCK, outputs, inputs), number)
    takes_tiles = device.tensor_cores and kind == ElementType.of("f16") and inputs > 1
    return _for_tiles(number, outputs, inputs) if takes_tiles else 1


def _for_tiles(number: int, outputs: int, inputs: int) -> int:
    """The fewest of so many groups that are read in whole chunks and fill more than half of the smallest tile's
    columns, without any that are left; 1 where that takes more columns than the largest has."""
    whole = [n for n in range(1, number + 1) if number % n == 0 and n * inputs % CHUNK == 0]
    fitting = [n for n in whole if n * outputs > TILES[0].columns // 2] or whole[-1:]
    return fitting[0] if fitting and fitting[0] * outputs <= _MOST_COLUMNS else 1


def _join(graph: Graph, context: BuildContext, node: Node, primitive: GroupConvolution, joined: int) -> None:
    number, outputs, inputs, *_ = graph.layout(node.inputs[1]).static_shape
    rest = number % joined
    if not rest:
        weights = _weights(graph, context, node, slice(None), joined)
        graph.replace(node.id, replace(primitive, inputs=(node.inputs[0], weights, *node.inputs[2:]), joined=joined))
        return
    lengths = np.array([(number - rest) * inputs, rest * inputs], np.int64)
    cut = constant_before(graph, node, "axis", np.array(1)), constant_before(graph, node, "lengths", lengths)
    parts = graph.insert_before(node.id, VariadicSplit(
        graph.unique_id(f"{node.id}/parts"), (node.inputs[0], *cut), origin=primitive.origin, num_splits=2))
    parts.layouts = context.infer(graph, parts)
    results = []
    for index, (some, count) in enumerate(((slice(number - rest), joined), (slice(number - rest, None), rest))):
        channels = slice(*(None if x is None else x * outputs for x in (some.start, some.stop)))
        own = (_weights(graph, context, node, some, count),
               *(_cut(graph, context, node, i, channels) for i in range(2, len(node.inputs))))
        results.append(inserted(graph, context, node, replace(
            primitive, id=graph.unique_id(f"{node.id}/groups"), inputs=(Port(parts.id, index), *own), joined=count)))
    whole = inserted(graph, context, node, Concat(graph.unique_id(f"{node.id}/joined"), tuple(results),
                                                  origin=primitive.origin, axis=1))
    graph.redirect(Port(node.id), whole)
    graph.remove_unread(node.id)


def _weights(graph: Graph, context: BuildContext, node: Node, some: slice, joined: int) -> Port:
    """The weights [G, O, I, filter...] of some groups as [G / joined, joined * O, joined * I, filter...]."""
    data = graph.constants[node.inputs[1].primitive]
    given = data.on_host(context.stream)[some]
    number, outputs, inputs, *filters = given.shape
    value = np.zeros((number // joined, joined, outputs, joined, inputs, *filters), given.dtype)
    for i in range(joined):
        value[:, i, :, i] = given[i::joined]
    value = value.reshape(number // joined, joined * outputs, joined * inputs, *filters)
    return constant_before(graph, node, "weights", value, data.layout.element_type)


def _cut(graph: Graph, context: BuildContext, node: Node, index: int, channels: slice) -> Port:
    """A constant input [channels] for some channels."""
    data = graph.constants[node.inputs[index].primitive]
    values = np.ascontiguousarray(data.on_host(context.stream)[channels])
    return constant_before(graph, node, "channels", values, data.layout.element_type)
