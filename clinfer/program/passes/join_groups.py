"""Convolves several groups of channels as one, where those of a group do not fill blocks of channels."""
from __future__ import annotations

from dataclasses import replace
from math import gcd

import numpy as np

from clinfer.kernels.selector import ANYTHING
from clinfer.ops.concat import Concat
from clinfer.ops.convolution import GroupConvolution
from clinfer.ops.convolution.kernels.cpu import NARROW_GROUPS
from clinfer.ops.shared.channel_tiles import BLOCK
from clinfer.ops.split import VariadicSplit
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.byte_values import constant_before, inserted
from clinfer.topology import Port


def join_groups(graph: Graph, context: BuildContext) -> None:
    """Where a CPU convolves groups with constant weights, the fewest groups whose channels fill blocks together become
    one, between whose parts the weights are 0, floats or compressed ones. The last groups, where too few are left, are
    a convolution of their own."""
    if context.engine.capabilities.device_type != "CPU":
        return
    for node in graph:
        if isinstance(node.primitive, GroupConvolution) and _is_joinable(graph, context, node):
            _join(graph, context, node, node.primitive)


def _is_joinable(graph: Graph, context: BuildContext, node: Node) -> bool:
    primitive = node.primitive
    if any(port.primitive not in graph.constants for port in node.inputs[1:]) or primitive.output_padding \
            or primitive.fused_ops or context.options.forced(node.id) != ANYTHING:
        return False
    number, outputs, inputs, *_ = graph.layout(node.inputs[1]).static_shape
    is_narrow = inputs == outputs and inputs in NARROW_GROUPS
    return graph.element_type(node.inputs[0]).is_float and number > 1 and not is_narrow and _joined(outputs, inputs) > 1


def _joined(outputs: int, inputs: int) -> int:
    """How many groups fill blocks of channels together."""
    return BLOCK // gcd(BLOCK, outputs, inputs)


def _join(graph: Graph, context: BuildContext, node: Node, primitive: GroupConvolution) -> None:
    number, outputs, inputs, *_ = graph.layout(node.inputs[1]).static_shape
    joined = min(_joined(outputs, inputs), number)
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
