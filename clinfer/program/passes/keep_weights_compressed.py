"""Lets matrix products read compressed weights as the model stores them."""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.layout import Layout
from clinfer.base.quantisation import CODEBOOK_SIZE, Quantisation
from clinfer.base.shape import StaticShape
from clinfer.ops.matmul import FLOAT_TYPES, MatMul
from clinfer.ops.shared.convolving import AnyConvolution
from clinfer.program.constants import ConstantData
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.compressed_chain import CompressedChain, stay_floats, weights_behind
from clinfer.topology import Constant, Port


def keep_weights_compressed(graph: Graph, context: BuildContext) -> None:
    """A product whose right side is (constant of 8 or 4 bits - zero point) * scale, or codebook[constant of 4 bits] *
    scale, reads these themselves.

    Kernels decompress weights as they load them. Those of other operations but convolutions (`keep_filters_compressed`)
    read floats: their compressed weights are decompressed once, when the program is built, which is noted.
    """
    made: dict[tuple[Port, StaticShape, bool], Port] = {}
    for node in graph:
        product = node.primitive
        if isinstance(product, MatMul) and graph.element_type(node.inputs[0]) in FLOAT_TYPES:
            found = CompressedChain.behind(graph, node.inputs[1], 1 if product.transpose_b else 0)
            if isinstance(found, CompressedChain):
                _replace(graph, node, found, made, context)
            elif found:
                stay_floats(graph, node, 1, found)
        elif (not isinstance(product, AnyConvolution) and (index := product.weights_input) is not None
              and weights_behind(graph, node.inputs[index])):
            stay_floats(graph, node, index, f"kernels of {type(product).__name__} read floats")


def _replace(graph: Graph, node: Node, chain: CompressedChain, made: dict[tuple[Port, StaticShape, bool], Port],
             context: BuildContext) -> None:
    """Put the product of compressed weights in the place of a product."""
    def constant(port: Port, is_weights: bool) -> Port:
        key = (port, (*chain.shape, chain.inner), is_weights)
        if key not in made:
            data = graph.constants[port.primitive]
            values = data.on_host(context.stream)
            made[key] = _constant(graph, node, port, _matrix(values, chain, is_weights), data.layout.element_type)
        return made[key]

    primitive = node.primitive
    assert isinstance(primitive, MatMul)
    inputs = [primitive.inputs[0], constant(chain.weights, True), constant(chain.scale, False)]
    if chain.zero_point is not None:
        inputs.append(constant(chain.zero_point, False))
    quantisation = Quantisation(2, None if chain.zero_point is None else 3, _codebook(graph, chain, context))
    graph.replace(node.id, replace(primitive, inputs=tuple(inputs), quantisation=quantisation))
    graph.remove_unread(primitive.inputs[1].primitive)


def _matrix(values: np.ndarray, chain: CompressedChain, is_weights: bool) -> np.ndarray:
    """The weights with the groups of k joined; scales and zero points as [groups, N]."""
    if is_weights:
        shape = chain.shape
        joined = shape if len(shape) == 2 else (
            *shape[:chain.inner], shape[chain.inner] * shape[chain.inner + 1], *shape[chain.inner + 2:])
        return values.reshape(joined)
    k = chain.inner + len(chain.shape) - 2
    per_group = tuple(1 if axis == k else size for axis, size in enumerate(chain.shape))
    stretched = np.broadcast_to(values, per_group).squeeze(k)
    if len(chain.shape) == 2:
        return np.ascontiguousarray(stretched.reshape(1, -1))
    return np.ascontiguousarray(stretched.T if chain.inner == 1 else stretched)


def _codebook(graph: Graph, chain: CompressedChain, context: BuildContext) -> tuple[float, ...]:
    """The numbers of the codebook, if there is one; zeros where no weight may point."""
    if chain.codebook is None:
        return ()
    numbers = graph.constants[chain.codebook.primitive].on_host(context.stream).astype(np.float32).tolist()
    return (*numbers, *(0.0,) * (CODEBOOK_SIZE - len(numbers)))


def _constant(graph: Graph, reader: Node, port: Port, values: np.ndarray, kind: ElementType) -> Port:
    origin = graph[port.primitive].primitive.origin
    node = graph.insert_before(reader.id, Constant(graph.unique_id(f"{port}/matrix"), origin=origin,
                                                   value=np.empty(0), element_type=kind))
    layout = Layout.planar(values.shape, kind)
    node.layouts = (layout,)
    graph.constants[node.id] = ConstantData(layout, array=values)
    return Port(node.id)
