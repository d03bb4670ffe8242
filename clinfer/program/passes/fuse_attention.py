"""Makes attention one primitive where a model writes it out, and takes its constants into the primitive."""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Shape
from clinfer.ops.convert import Convert
from clinfer.ops.eltwise import Eltwise, is_add
from clinfer.ops.matmul import FLOAT_TYPES, MatMul
from clinfer.ops.sdpa import MOST_WIDTH, ScaledDotProductAttention
from clinfer.ops.softmax import Softmax
from clinfer.ops.transpose import Transpose
from clinfer.program.constants import ConstantData
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Constant, Port


@dataclass(frozen=True)
class _Attention:
    """softmax(scores * scale + mask) x values, written out."""

    scores: Node
    scale: float
    mask: Port | None
    softmax: Node
    result: Node

    @property
    def products(self) -> tuple[MatMul, MatMul]:
        return cast(MatMul, self.scores.primitive), cast(MatMul, self.result.primitive)


def fuse_attention(graph: Graph, context: BuildContext) -> None:
    """A product, constant factors, a mask, a softmax over the last axis and a product, each read by the next alone.

    Where sizes leave that open, the mask may stretch the scores, but not along the keys, which is checked for each
    shape. Conversions between these steps, as where f16 models have their softmax in f32, are left out: kernels compute
    scores in f32.
    """
    for node in graph:
        if node.id not in graph:
            continue
        found = _written_out(graph, node, context)
        if found is not None:
            _fuse(graph, found, context)
        elif isinstance(node.primitive, ScaledDotProductAttention):
            _take_constants(graph, node, context)


# -- written out ------------------------------------------------------------------------------------


def _written_out(graph: Graph, node: Node, context: BuildContext) -> _Attention | None:
    if not _is_product(node) or node.layouts[0].rank < 3:
        return None
    width, softmax = node.layouts[0].shape[-1], graph[_unconverted(graph, node.inputs[0]).primitive]
    if not isinstance(width, int) or width > MOST_WIDTH or cast(MatMul, node.primitive).transpose_a:
        return None
    if not isinstance(softmax.primitive, Softmax) or not _is_read_once(graph, softmax):
        return None
    if softmax.primitive.axis not in (-1, softmax.layouts[0].rank - 1):
        return None
    for scores, mask in _masked(graph, _unconverted(graph, softmax.inputs[0])):
        at, scale = graph[_unconverted(graph, scores).primitive], 1.0
        while _is_read_once(graph, at) and (factor := _factor(graph, at, context)) is not None:
            scale, at = scale * factor, graph[_unconverted(graph, at.inputs[0]).primitive]
        found = _Attention(at, scale, mask, softmax, node)
        if _is_product(at) and _is_read_once(graph, at) and _fits(graph, found):
            return found
    return None


def _is_product(node: Node) -> bool:
    primitive = node.primitive
    return isinstance(primitive, MatMul) and len(primitive.inputs) == 2 and not primitive.fused_ops and not node.on_host


def _is_read_once(graph: Graph, node: Node) -> bool:
    return (not graph.is_output(node.id) and len(graph.readers(Port(node.id))) == 1
            and not node.primitive.output_padding and not node.primitive.fused_ops)


def _unconverted(graph: Graph, port: Port) -> Port:
    """What a tensor was before conversions between floats that nothing else reads."""
    node = graph[port.primitive]
    while isinstance(node.primitive, Convert) and _is_read_once(graph, node) and all(
            layout.element_type in FLOAT_TYPES for layout in (*graph.input_layouts(node), *node.layouts)):
        port = node.inputs[0]
        node = graph[port.primitive]
    return port


def _factor(graph: Graph, node: Node, context: BuildContext) -> float | None:
    """What input 0 is multiplied with, if that is one constant."""
    mode = node.primitive.mode if isinstance(node.primitive, Eltwise) else ""
    if mode not in ("Multiply", "Divide") or graph.layout(node.inputs[0]).shape != node.layouts[0].shape:
        return None
    number = context.number(graph, node.inputs[1])
    if not number:
        return None
    return number if mode == "Multiply" else 1 / number


def _masked(graph: Graph, port: Port) -> list[tuple[Port, Port | None]]:
    """What may be the scores and their mask in what a softmax reads."""
    node = graph[port.primitive]
    if not is_add(node.primitive):
        return [(port, None)]
    both = (node.inputs, node.inputs[::-1]) if _is_read_once(graph, node) else ()
    return [(scores, mask) for scores, mask in both if _stretches(graph.layout(mask).shape, graph.layout(scores).shape)]


def _stretches(shape: Shape, target: Shape) -> bool:
    """Whether sizes that are known do not keep a shape from stretching to another."""
    return len(shape) <= len(target) and all(
        size in (1, whole) if isinstance(size, int) else not isinstance(whole, int)
        for size, whole in zip(reversed(shape), reversed(target), strict=False))


def _fits(graph: Graph, found: _Attention) -> bool:
    """Whether query, key and value are floats of one type and rank."""
    inputs = [graph.layout(port) for port in (*found.scores.inputs, found.result.inputs[1])]
    types = {x.element_type for x in (*inputs, *found.result.layouts)}
    ranks = {x.rank for x in (*inputs, *found.scores.layouts, *found.result.layouts)}
    return len(types) == 1 and len(ranks) == 1 and inputs[0].element_type in FLOAT_TYPES


def _fuse(graph: Graph, found: _Attention, context: BuildContext) -> None:
    (first, second), reader = found.products, found.result.id
    query = _turned(graph, first.inputs[0], first.transpose_a, reader, context)
    key = _turned(graph, first.inputs[1], not first.transpose_b, reader, context)
    value = _turned(graph, second.inputs[1], second.transpose_b, reader, context)
    inputs = (query, key, value) if found.mask is None else (query, key, value, found.mask)
    attention = graph.insert_before(reader, ScaledDotProductAttention(
        graph.unique_id(f"{found.softmax.id}/attention"), inputs, origin=found.softmax.primitive.origin,
        output_padding=second.output_padding, scale=found.scale))
    attention.layouts = found.result.layouts
    graph.redirect(Port(reader), Port(attention.id))
    at = found.result
    while at is not found.scores:
        source = at.inputs[1 if at.inputs[0] == found.mask else 0]
        graph.remove(at.id)
        at = graph[source.primitive]
    graph.remove(at.id)


def _turned(graph: Graph, port: Port, turn: bool, reader: str, context: BuildContext) -> Port:
    """A tensor, or its transpose over the last two axes."""
    if not turn:
        return port
    rank = graph.layout(port).rank
    order = np.array((*range(rank - 2), rank - 1, rank - 2), np.int64)
    origin = graph[port.primitive].primitive.origin
    axes = graph.insert_before(reader, Constant(graph.unique_id(f"{port}/order"), origin=origin, value=order,
                                                element_type=ElementType.of("i64")))
    axes.layouts = context.infer(graph, axes)
    graph.constants[axes.id] = ConstantData(axes.layouts[0], array=order)
    turned = graph.insert_before(reader, Transpose(graph.unique_id(f"{port}/turned"), (port, Port(axes.id)),
                                                   origin=origin))
    turned.layouts = context.infer(graph, turned)
    return Port(turned.id)


# -- constants --------------------------------------------------------------------------------------


def _take_constants(graph: Graph, node: Node, context: BuildContext) -> None:
    """A constant scale becomes an attribute; then a mask of nothing but one 0 is left out."""
    primitive = cast(ScaledDotProductAttention, node.primitive)
    if len(node.inputs) == 5 and (scale := context.number(graph, node.inputs[4])) is not None:
        graph.replace(node.id, primitive := replace(primitive, inputs=node.inputs[:4], scale=scale))
    if len(node.inputs) == 4 and (primitive.causal or context.number(graph, node.inputs[3]) == 0):
        graph.replace(node.id, replace(primitive, inputs=node.inputs[:3]))
