"""Attention in the forms in which exporters write it, and the graphs that the passes make of them."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clinfer.frontend.reader import to_topology
from clinfer.frontend.transformations import prepare
from clinfer.program.graph import Graph
from clinfer.program.passes.fuse_attention import fuse_attention
from clinfer.program.passes.fuse_bias import fuse_bias
from clinfer.program.passes.group_heads import group_heads
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.join_projections import join_projections
from clinfer.program.passes.keep_weights_compressed import keep_weights_compressed
from clinfer.program.passes.propagate_constants import propagate_constants
from clinfer.program.passes.read_parts import read_parts
from clinfer.program.passes.split_products import split_products
from clinfer.runtime.engine import Engine
from clinfer.topology import Topology
from tests.oracle import ov
from tests.program.building import graph_after

PASSES = (infer_layouts, keep_weights_compressed, propagate_constants, fuse_attention, fuse_bias, group_heads,
          read_parts, split_products, join_projections)
HEADS, DEPTH = 3, 8
HIDDEN = HEADS * DEPTH

op = ov.opset13
Value = ov.Output


def row(*numbers: int) -> ov.Node:
    """A constant row of numbers."""
    return op.constant(np.array(numbers, np.int64))


def _weights(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)


def linear(rng: np.random.Generator, data: Value, width: int, bias: bool = True) -> ov.Node:
    """A product with random weights, and a random bias."""
    product = op.matmul(data, _weights(rng, int(data.get_partial_shape()[-1].get_length()), width), False, False)
    return op.add(product, _weights(rng, width)) if bias else product


def heads(data: ov.Node, count: int = HEADS) -> ov.Node:
    """[batch, length, width] to [batch, heads, length, depth]."""
    return op.transpose(op.reshape(data, row(0, 0, count, DEPTH), True), row(0, 2, 1, 3))


def joined(mixed: ov.Node) -> ov.Node:
    """[batch, heads, length, depth] to [batch, length, width]."""
    return op.reshape(op.transpose(mixed, row(0, 2, 1, 3)), row(0, 0, HIDDEN), True)


def _three(rng: np.random.Generator, data: Value) -> ov.Node:
    """Three projections, one of them without a bias."""
    query, key, value = (heads(linear(rng, data, HIDDEN, bias)) for bias in (True, False, True))
    return joined(op.scaled_dot_product_attention(query, key, value, causal=True))


def _by_hand(rng: np.random.Generator, data: Value) -> ov.Node:
    """Softmax written out, with a mask and keys that are transposed for the product."""
    query, value = (heads(linear(rng, data, HIDDEN)) for _ in range(2))
    key = op.transpose(op.reshape(linear(rng, data, HIDDEN), row(0, 0, HEADS, DEPTH), True), row(0, 2, 3, 1))
    mask = op.unsqueeze(op.multiply(op.reduce_sum(data, row(2), False), np.float32(0.1)), row(1, 2))
    scores = op.add(op.divide(op.matmul(query, key, False, False), np.float32(np.sqrt(DEPTH))), mask)
    return joined(op.matmul(op.softmax(scores, -1), value, False, False))


def _one(rng: np.random.Generator, data: Value) -> ov.Node:
    """One projection whose parts are gathered from a transposed tensor."""
    split = op.reshape(linear(rng, data, 3 * HIDDEN), row(0, 0, 3, HEADS, DEPTH), True)
    parts = op.transpose(split, row(2, 0, 3, 1, 4))
    query, key, value = (op.gather(parts, np.int64(i), np.int64(0)) for i in range(3))
    return joined(op.scaled_dot_product_attention(query, key, value))


def _split(rng: np.random.Generator, data: Value) -> ov.Node:
    """One projection that is split by heads."""
    split = op.reshape(linear(rng, data, 3 * HIDDEN), row(0, 0, 3 * HEADS, DEPTH), True)
    parts = op.variadic_split(split, np.int64(2), row(HEADS, HEADS, -1)).outputs()
    return joined(op.scaled_dot_product_attention(*(op.transpose(x, row(0, 2, 1, 3)) for x in parts)))


def _columns(rng: np.random.Generator, data: Value) -> ov.Node:
    """One projection, the columns of which are split and then make heads."""
    parts = op.split(linear(rng, data, 3 * HIDDEN), np.int64(-1), 3).outputs()
    return joined(op.scaled_dot_product_attention(*(heads(part) for part in parts), causal=True))


def _cut(rng: np.random.Generator, data: Value) -> ov.Node:
    """Parts that are squeezed out of a split and sliced out of a tensor."""
    split = op.reshape(linear(rng, data, 2 * HIDDEN), row(0, 0, 2, HEADS, DEPTH), True)
    query, key = (op.transpose(op.squeeze(x, row(2)), row(0, 2, 1, 3))
                  for x in op.split(split, np.int64(2), 2).outputs())
    wide = op.reshape(linear(rng, data, 2 * HIDDEN), row(0, 0, 2 * HEADS, DEPTH), True)
    value = op.transpose(op.slice(wide, row(-HEADS), row(2**31), row(1), row(2)), row(0, 2, 1, 3))
    return joined(op.scaled_dot_product_attention(query, key, value))


def repeated(data: ov.Node, heads: int, times: int) -> ov.Node:
    """[batch, heads, length, depth] with each head so many times, as it is exported from PyTorch."""
    def size(axis: int) -> ov.Node:
        return op.gather(op.shape_of(data), row(axis), np.int64(0))
    wide = op.concat([size(0), row(heads), row(times), size(2), row(DEPTH)], 0)
    ones = op.broadcast(np.int64(1), op.shape_of(wide))
    target = op.select(op.equal(wide, row(-1)), ones, wide)
    stretched = op.broadcast(op.unsqueeze(data, row(2)), target, broadcast_spec="BIDIRECTIONAL")
    return op.reshape(stretched, op.concat([size(0), row(heads * times), size(2), row(DEPTH)], 0), True)


def _grouped(rng: np.random.Generator, data: Value) -> ov.Node:
    """Two groups of heads, each with a key and a value of its own."""
    query = heads(linear(rng, data, 2 * HIDDEN), 2 * HEADS)
    key, value = (repeated(heads(linear(rng, data, 2 * DEPTH, bias), 2), 2, HEADS) for bias in (True, False))
    mixed = op.scaled_dot_product_attention(query, key, value, causal=True)
    return op.reshape(op.transpose(mixed, row(0, 2, 1, 3)), row(0, 0, 2 * HIDDEN), True)


MODELS: dict[str, tuple[Callable[[np.random.Generator, Value], ov.Node], int]] = {
    "three": (_three, 1), "by_hand": (_by_hand, 1), "one": (_one, 1), "split": (_split, 1), "cut": (_cut, 2),
    "grouped": (_grouped, 1), "columns": (_columns, 1)}
"""How attention is written, and how many products are left before it."""


def attention_model(name: str, seed: int, *shape: int) -> ov.Model:
    """A row of MODELS on one input of that shape, -1 where dynamic; equal seeds give equal weights."""
    data = op.parameter(list(shape), np.float32)
    return ov.Model([MODELS[name][0](np.random.default_rng(seed), data.output(0))], [data], name)


def attention_graph(engine: Engine, model: ov.Model | Topology) -> Graph:
    """The graph after the passes that concern attention."""
    topology = model if isinstance(model, Topology) else to_topology(prepare(model)).topology
    return graph_after(engine, topology, PASSES)
