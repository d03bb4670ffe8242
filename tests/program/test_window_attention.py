"""Attention within windows with masks of their own, as models of shifted windows write it out."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.frontend.reader import to_topology
from clinfer.frontend.transformations import prepare
from clinfer.ops.sdpa import ScaledDotProductAttention
from clinfer.program.graph import Graph
from clinfer.program.passes.fuse_attention import fuse_attention
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.propagate_constants import propagate_constants
from clinfer.runtime.engine import Engine
from tests.network.running import check, network_of
from tests.oracle import CpuPlugin, ov
from tests.program.building import graph_after

WINDOWS, HEADS, LENGTH, DEPTH = 4, 3, 9, 8
op = ov.opset13


def _halves(rng: np.random.Generator, *shape: int) -> ov.Node:
    return op.constant(rng.standard_normal(shape).astype(np.float32))


def _masks(rng: np.random.Generator) -> ov.Node:
    return op.constant(np.where(rng.random((1, WINDOWS, 1, LENGTH, LENGTH)) < 0.5, 0, -100).astype(np.float32))


def _model(rng: np.random.Generator, masks: ov.Node, heads_of_keys: int = HEADS, keys: int = -1,
           common: str = "constant") -> ov.Model:
    """[windows of all pictures, length, 3 * heads * depth] -> [the same, length, heads * depth]."""
    data = op.parameter([-1, LENGTH, 3, HEADS, DEPTH], np.float32)
    parts = op.transpose(data, np.array([2, 0, 3, 1, 4]))
    query, key, value = (op.gather(parts, np.int64(number), np.int64(0)) for number in range(3))
    inputs = [data]
    if heads_of_keys != HEADS or keys > 0:
        key, value = (op.parameter([keys, heads_of_keys, LENGTH, DEPTH], np.float32) for _ in range(2))
        inputs += [key, value]
    scores = op.matmul(op.multiply(query, np.float32(DEPTH ** -0.5)), key, False, True)
    if common == "input":
        inputs.append(op.parameter([1, HEADS, LENGTH, LENGTH], np.float32))
        scores = op.add(scores, inputs[-1])
    elif common:
        scores = op.add(_halves(rng, 1, HEADS, LENGTH, LENGTH), scores)
    pictures = op.divide(op.gather(op.shape_of(data), np.int64(0), np.int64(0)), np.int64(WINDOWS))
    sizes = [op.unsqueeze(pictures, np.int64(0)), op.constant(np.array([WINDOWS, HEADS, LENGTH, LENGTH]))]
    seen = op.add(op.reshape(scores, op.concat(sizes, 0), False), masks)
    weights = op.softmax(op.reshape(seen, np.array([-1, HEADS, LENGTH, LENGTH]), False), 3)
    mixed = op.transpose(op.matmul(weights, value, False, False), np.array([0, 2, 1, 3]))
    return ov.Model([op.reshape(mixed, np.array([-1, LENGTH, HEADS * DEPTH]), False)], inputs, "windows")


def _graph(engine: Engine, model: ov.Model) -> Graph:
    return graph_after(engine, to_topology(prepare(model)).topology, (infer_layouts, propagate_constants,
                                                                      fuse_attention))


def _attentions(engine: Engine, model: ov.Model) -> list[ScaledDotProductAttention]:
    return [node.primitive for node in _graph(engine, model) if isinstance(node.primitive, ScaledDotProductAttention)]


@pytest.mark.parametrize("common", ["", "constant"])
def test_windows_are_heads(engine: Engine, rng: np.random.Generator, common: str) -> None:
    model = _model(rng, _masks(rng), common=common)
    attention, = _attentions(engine, model)
    assert attention.scale == pytest.approx(DEPTH ** -0.5) and len(attention.inputs) == 4
    graph = _graph(engine, model)
    assert graph.layout(attention.inputs[3]).shape == (1, WINDOWS * HEADS, LENGTH, LENGTH)
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for pictures in (1, 3, 2, 1):
        check(network, oracle, [rng.standard_normal((pictures * WINDOWS, LENGTH, 3, HEADS, DEPTH)).astype(np.float32)])


def test_masks_of_all_heads(engine: Engine, rng: np.random.Generator) -> None:
    model = _model(rng, _halves(rng, WINDOWS, HEADS, LENGTH, LENGTH))
    assert len(_attentions(engine, model)) == 1
    check(network_of(engine, prepare(model)), CpuPlugin(model),
          [rng.standard_normal((2 * WINDOWS, LENGTH, 3, HEADS, DEPTH)).astype(np.float32)])


@pytest.mark.parametrize("heads, keys, common", [(1, -1, "constant"), (HEADS, 1, ""), (HEADS, -1, "input")])
def test_other_shapes_and_masks_stay_written_out(engine: Engine, rng: np.random.Generator, heads: int, keys: int,
                                                 common: str) -> None:
    """Where key and value need not have the windows or heads of the query, or a mask is not known."""
    other = heads != HEADS or keys > 0
    model = _model(rng, _masks(rng), heads, keys, common)
    assert not _attentions(engine, model)
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for pictures in (1, 2):
        given = [rng.standard_normal((pictures * WINDOWS, LENGTH, 3, HEADS, DEPTH)).astype(np.float32)]
        given += [rng.standard_normal((1 if keys > 0 else pictures * WINDOWS, heads, LENGTH, DEPTH)).astype(np.float32)
                  for _ in range(2 * other)]
        given += [rng.standard_normal((1, HEADS, LENGTH, LENGTH)).astype(np.float32)] * (common == "input")
        check(network, oracle, given)


def test_masks_along_pictures_stay_written_out(engine: Engine, rng: np.random.Generator) -> None:
    """Here a mask of each of two pictures."""
    model = _model(rng, _halves(rng, 2, WINDOWS, 1, LENGTH, LENGTH))
    assert not _attentions(engine, model)
    check(network_of(engine, prepare(model)), CpuPlugin(model),
          [rng.standard_normal((2 * WINDOWS, LENGTH, 3, HEADS, DEPTH)).astype(np.float32)])
