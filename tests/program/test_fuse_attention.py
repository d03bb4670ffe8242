"""The pass that makes attention one primitive: how it may be written out, and when the pass keeps away."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.errors import ClinferError
from clinfer.frontend.reader import to_topology
from clinfer.frontend.transformations import prepare
from clinfer.ops.matmul import MatMul
from clinfer.ops.sdpa import ScaledDotProductAttention
from clinfer.ops.transpose import Transpose
from clinfer.program.graph import Graph
from clinfer.program.options import BuildOptions
from clinfer.program.passes.fuse_attention import fuse_attention
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.propagate_constants import propagate_constants
from clinfer.runtime.engine import Engine
from tests.network.running import check, network_of
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, ov
from tests.program.building import graph_after

PASSES = (infer_layouts, propagate_constants, fuse_attention)
SKIPPED = BuildOptions(skipped_passes=frozenset({"fuse_attention"}))
HEADS, DEPTH = 2, 8

op = ov.opset13


def _graph(engine: Engine, model: ov.Model) -> Graph:
    return graph_after(engine, to_topology(prepare(model)).topology, PASSES)


def _attentions(graph: Graph) -> list[ScaledDotProductAttention]:
    return [node.primitive for node in graph if isinstance(node.primitive, ScaledDotProductAttention)]


def _three(*lead: int) -> list[ov.Node]:
    """Query, key and value [..., length, depth] with lengths of their own."""
    return [op.parameter([*lead, -1, DEPTH], np.float32) for _ in range(3)]


def _random(rng: np.random.Generator, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def _sizes(rng: np.random.Generator, *lead: int) -> list[np.ndarray]:
    """Arrays for `_three`."""
    queries, keys = (int(n) for n in rng.integers(1, 40, 2))
    return _random(rng, (*lead, queries, DEPTH), (*lead, keys, DEPTH), (*lead, keys, DEPTH))


def _written_out(query: ov.Node, key: ov.Node, value: ov.Node, mask: ov.Node) -> ov.Node:
    scores = op.divide(op.matmul(query, key, False, True), np.float32(np.sqrt(DEPTH)))
    return op.matmul(op.softmax(op.add(scores, mask), -1), value, False, False)


def test_a_quotient_and_a_mask_on_the_left(engine: Engine, rng: np.random.Generator) -> None:
    query, key, value = _three(-1, HEADS)
    mask = op.parameter([-1, 1, 1, -1], np.float32)
    scores = op.multiply(op.divide(op.matmul(query, key, False, True), np.float32(3)), np.float32(0.5))
    mixed = op.matmul(op.softmax(op.add(mask, scores), 3), value, False, False)
    model = ov.Model([mixed], [query, key, value, mask], "quotient")
    attention, = _attentions(_graph(engine, model))
    assert attention.scale == pytest.approx(1 / 6) and len(attention.inputs) == 4
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for batch in (2, 1, 3):
        given = _sizes(rng, batch, HEADS)
        check(network, oracle, [*given, *_random(rng, (batch, 1, 1, given[1].shape[-2]))])


@pytest.mark.parametrize("masked", ["in f32", "in f16"])
def test_a_softmax_in_f32_of_an_f16_model(engine: Engine, rng: np.random.Generator, masked: str) -> None:
    query, key, value = (op.parameter([-1, HEADS, -1, DEPTH], np.float16) for _ in range(3))
    mask = op.parameter([-1, 1, -1, -1], np.float32)
    scores = op.multiply(op.matmul(query, key, False, True), np.float16(0.25))
    if masked == "in f32":
        scores = op.add(op.convert(scores, "f32"), mask)
    else:
        scores = op.convert(op.add(scores, op.convert(mask, "f16")), "f32")
    mixed = op.matmul(op.convert(op.softmax(scores, -1), "f16"), value, False, False)
    model = ov.Model([op.convert(mixed, "f32")], [query, key, value, mask], "f16")
    assert len(_attentions(_graph(engine, model))) == 1
    data = [array.astype(np.float16) for array in _sizes(rng, 2, HEADS)]
    given = [*data, *_random(rng, (2, 1, data[0].shape[-2], data[1].shape[-2]))]
    check(network_of(engine, prepare(model)), CpuPlugin(model), given, 5e-3)


def test_three_axes_and_sides_that_are_turned(engine: Engine, rng: np.random.Generator) -> None:
    query, key = (op.parameter([-1, DEPTH, -1], np.float32) for _ in range(2))
    value = op.parameter([-1, DEPTH, -1], np.float32)
    scores = op.divide(op.matmul(query, key, True, False), np.float32(2))
    model = ov.Model([op.matmul(op.softmax(scores, -1), value, False, True)], [query, key, value], "turned")
    graph = _graph(engine, model)
    assert len(_attentions(graph)) == 1 and sum(isinstance(node.primitive, Transpose) for node in graph) == 3
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for queries, keys in ((5, 9), (1, 1), (40, 33)):
        check(network, oracle, _random(rng, (2, DEPTH, queries), (2, DEPTH, keys), (2, DEPTH, keys)))


def test_a_scale_that_openvino_leaves_as_an_input(engine: Engine, rng: np.random.Generator) -> None:
    """Without a mask, a zero stands for one; neither is read."""
    query, key, value = _three(-1, HEADS)
    model = ov.Model([op.scaled_dot_product_attention(
        query, key, value, op.constant(np.float32(0)), op.constant(np.float32(0.3)))], [query, key, value], "inputs")
    attention, = _attentions(_graph(engine, model))
    assert attention.scale == pytest.approx(0.3) and len(attention.inputs) == 3
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for _ in range(3):
        check(network, oracle, _sizes(rng, 2, HEADS))


def test_the_pass_can_be_left_out(engine: Engine, rng: np.random.Generator) -> None:
    query, key, value = _three(2, HEADS)
    scores = op.divide(op.matmul(query, key, False, True), np.float32(3))
    model = prepare(ov.Model([op.matmul(op.softmax(scores, -1), value, False, False)], [query, key, value], "out"))
    fused, apart = network_of(engine, model), network_of(engine, model, SKIPPED)
    given = _sizes(rng, 2, HEADS)
    assert np.allclose(execute(fused, given)[0], execute(apart, given)[0], rtol=1e-4, atol=1e-5)
    counts = [sum(node.kind == "kernel" for node in network.program.nodes) for network in (fused, apart)]
    assert counts[0] == 1 and counts[1] >= 3


@pytest.mark.parametrize("form", ["written out", "added"])
def test_a_mask_may_stretch_the_queries(engine: Engine, rng: np.random.Generator, form: str) -> None:
    query, key, value = _three(-1, HEADS)
    mask = op.parameter([-1, 1, -1, -1], np.float32)
    attended = (_written_out if form == "written out" else op.scaled_dot_product_attention)(query, key, value, mask)
    model = ov.Model([op.add(attended, query)], [query, key, value, mask], form)
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    assert _attentions(_graph(engine, model))
    for batch, rows, queries, keys in ((1, 4, 4, 6), (3, 4, 4, 6), (1, 37, 1, 40), (2, 5, 1, 1), (3, 1, 33, 70)):
        check(network, oracle, _random(rng, (1, HEADS, queries, DEPTH), (1, HEADS, keys, DEPTH),
                                       (1, HEADS, keys, DEPTH), (batch, 1, rows, keys)))


@pytest.mark.parametrize("form", ["written out", "added"])
def test_a_mask_that_does_not_fit_the_keys_is_an_error(engine: Engine, rng: np.random.Generator, form: str) -> None:
    query, key, value = _three(-1, HEADS)
    mask = op.parameter([-1, 1, -1, -1], np.float32)
    attended = (_written_out if form == "written out" else op.scaled_dot_product_attention)(query, key, value, mask)
    network = network_of(engine, ov.Model([attended], [query, key, value, mask], form))
    with pytest.raises(ClinferError, match="do not fit together"):
        execute(network, _random(rng, (1, HEADS, 4, DEPTH), *((1, HEADS, 1, DEPTH),) * 2, (1, 1, 4, 6)))


def _as_mask(seen: np.ndarray, form: str) -> np.ndarray:
    return seen if form == "boolean" else np.where(seen, 0, -np.inf).astype(np.float32)


@pytest.mark.parametrize("form", ["written out", "added", "boolean"])
def test_a_query_that_sees_no_key_gets_zeros(engine: Engine, rng: np.random.Generator, form: str) -> None:
    """As from PyTorch and ONNX Runtime; the others are what they are without it."""
    query, key, value = _three(-1, HEADS)
    mask = op.parameter([-1, -1], bool if form == "boolean" else np.float32)
    attended = (_written_out(query, key, value, mask) if form == "written out"
                else op.scaled_dot_product_attention(query, key, value, mask))
    model = ov.Model([attended], [query, key, value, mask], form)
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for queries, keys in ((4, 6), (1, 40), (37, 70)):
        given = _random(rng, *((2, HEADS, length, DEPTH) for length in (queries, keys, keys)))
        seen = rng.random((queries, keys)) < 0.7
        hidden = queries // 2
        seen[hidden] = False
        seen[np.arange(queries) != hidden, 0] = True
        found, = execute(network, [*given, _as_mask(seen, form)])
        assert (found[:, :, hidden] == 0).all()
        seen[hidden] = True
        whole, = oracle([*given, _as_mask(seen, form)])
        assert np.allclose(np.delete(found, hidden, 2), np.delete(whole, hidden, 2), rtol=1e-4, atol=1e-5)


def test_a_sink_that_does_not_stretch_is_an_error(engine: Engine, rng: np.random.Generator) -> None:
    from openvino.utils.node_factory import NodeFactory
    query, key, value = _three(-1, HEADS)
    mask, sink = op.parameter([-1, -1], np.float32), op.parameter([-1, HEADS, 1, 1], np.float32)
    read = [query, key, value, mask, op.constant(np.float32(0.5)), sink]
    attention = NodeFactory("opset13").create("ScaledDotProductAttention", [each.output(0) for each in read],
                                              {"causal": False})
    network = network_of(engine, ov.Model([attention], [query, key, value, mask, sink], "sink"))
    sizes = ((1, HEADS, 4, DEPTH), (1, HEADS, 6, DEPTH), (1, HEADS, 6, DEPTH), (4, 6))
    for batch in (3, 0):
        with pytest.raises(ClinferError, match="sink of attention does not fit"):
            execute(network, _random(rng, *sizes, (batch, HEADS, 1, 1)))
    assert np.isfinite(execute(network, _random(rng, *sizes, (1, HEADS, 1, 1)))[0]).all()


def _kept(rng: np.random.Generator) -> dict[str, ov.Model]:
    """Models that look like attention and are none, or of which a part is read elsewhere."""
    query, key, value = _three(-1, HEADS)
    inputs = [query, key, value]
    scores = op.divide(op.matmul(query, key, False, True), np.float32(2))
    weights = op.softmax(scores, -1)
    mixed = op.matmul(weights, value, False, False)
    scale = op.constant(rng.standard_normal((HEADS, 1, 1)).astype(np.float32))
    wide = op.add(op.matmul(query, key, False, True), op.constant(np.zeros((4, 1, HEADS, 1, 1), np.float32)))
    return {"weights are an output": ov.Model([mixed, weights], inputs, "a"),
            "scores are an output": ov.Model([mixed, op.relu(scores)], inputs, "b"),
            "a scale per head": ov.Model([op.matmul(op.softmax(op.multiply(op.divide(
                op.matmul(query, key, False, True), np.float32(2)), scale), -1), value, False, False)], inputs, "c"),
            "columns are normalised": ov.Model([op.matmul(op.softmax(scores, -2), value, False, False)], inputs, "d"),
            "a mask of more axes": ov.Model([op.matmul(op.softmax(wide, -1), value, False, False)], inputs, "e")}


@pytest.mark.parametrize("name", ["weights are an output", "scores are an output", "a scale per head",
                                  "columns are normalised", "a mask of more axes"])
def test_what_is_no_attention_stays(engine: Engine, name: str, rng: np.random.Generator) -> None:
    model = _kept(rng)[name]
    graph = _graph(engine, model)
    assert not _attentions(graph) and sum(isinstance(node.primitive, MatMul) for node in graph) == 2
    check(network_of(engine, prepare(model)), CpuPlugin(model), _sizes(rng, 2, HEADS))
