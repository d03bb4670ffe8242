"""Fills up the channels of volumes for tensor cores."""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.ops.convolution import Convolution, GroupConvolution
from clinfer.ops.pad import Pad
from clinfer.ops.shared.tensor_cores import CHUNK
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.insertion import constant_before, inserted


def fill_channels(graph: Graph, context: BuildContext) -> None:
    """Where tensor cores could convolve volumes of f16 with constant weights but for the number of channels, zeros fill
    it up to a multiple of what is read at once. For pictures there are kernels that take any number."""
    if not context.engine.capabilities.tensor_cores:
        return
    for node in graph:
        if isinstance(node.primitive, Convolution) and _lacks_channels(graph, node, node.primitive):
            _fill(graph, context, node, node.primitive)


def _lacks_channels(graph: Graph, node: Node, primitive: Convolution) -> bool:
    data, weights = graph.input_layouts(node)[:2]
    is_volume = data.rank == 5 and data.element_type == ElementType.of("f16") and not data.padding
    return (is_volume and not isinstance(primitive, GroupConvolution) and not primitive.has_factor
            and node.inputs[1].primitive in graph.constants and weights.static_shape[1] % CHUNK > 0)


def _fill(graph: Graph, context: BuildContext, node: Node, primitive: Convolution) -> None:
    given = graph.constants[node.inputs[1].primitive]
    weights = given.on_host(context.stream)
    more = -weights.shape[1] % CHUNK
    filled = np.pad(weights, [(0, more if axis == 1 else 0) for axis in range(weights.ndim)])
    none, ends = np.zeros(weights.ndim, np.int64), np.array([0, more, 0, 0, 0])
    data = inserted(graph, context, node, Pad(
        graph.unique_id(f"{node.id}/filled"),
        (node.inputs[0], constant_before(graph, node, "begins", none), constant_before(graph, node, "ends", ends)),
        origin=primitive.origin))
    constant = constant_before(graph, node, "weights", filled, given.layout.element_type)
    graph.replace(node.id, replace(primitive, inputs=(data, constant, *node.inputs[2:])))
