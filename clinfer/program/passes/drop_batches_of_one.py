"""Constant right sides of matrix products lose batches of one, with which JAX's dense layers come: kernels that pack
their right side take a matrix."""
from __future__ import annotations

from clinfer.base.layout import Layout
from clinfer.ops.convert import Convert
from clinfer.ops.matmul import MatMul
from clinfer.program.constants import ConstantData
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node

_RIGHT = 1
_MATRIX = 2


def drop_batches_of_one(graph: Graph, context: BuildContext) -> None:
    """[1, columns, depth] becomes [columns, depth], behind a Convert, too, where nobody else reads it and the left side
    has as many axes: then the result stays what it is."""
    for node in graph:
        if isinstance(node.primitive, MatMul):
            chain = _constant_chain(graph, node)
            if chain is not None and _has_batch_of_one(graph, node, chain[-1]):
                _drop(graph, context, chain)


def _constant_chain(graph: Graph, node: Node) -> list[Node] | None:
    """The right side, and what it is converted from, the constant last; None if there is none, or others read it."""
    chain, reader, port = list[Node](), node, node.inputs[_RIGHT]
    while graph.is_read_only_by(port.primitive, reader.id) and len(graph.readers(port)) == 1:
        reader = graph[port.primitive]
        chain.append(reader)
        if reader.id in graph.constants:
            return chain
        if not isinstance(reader.primitive, Convert):
            break
        port = reader.inputs[0]
    return None


def _has_batch_of_one(graph: Graph, node: Node, constant: Node) -> bool:
    layout, array = constant.layouts[0], graph.constants[constant.id].array
    return (layout.rank > _MATRIX and all(size == 1 for size in layout.shape[:-_MATRIX]) and array is not None
            and array.shape == layout.shape and graph.layout(node.inputs[0]).rank >= layout.rank)


def _drop(graph: Graph, context: BuildContext, chain: list[Node]) -> None:
    *converts, constant = chain
    layout = Layout.planar(constant.layouts[0].static_shape[-_MATRIX:], constant.layouts[0].element_type)
    array = graph.constants[constant.id].array
    assert array is not None
    graph.constants[constant.id] = ConstantData(layout, array.reshape(layout.static_shape))
    constant.layouts = (layout,)
    for convert in reversed(converts):
        convert.layouts = context.infer(graph, convert)
