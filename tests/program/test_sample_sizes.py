"""Samples of open sizes have the ranks of the graph and the sizes that operations demand; such models compile."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from openvino import opset13 as ops

from bench.models import llama
from clinfer.frontend.reader import to_topology
from clinfer.frontend.states import read_source
from clinfer.program.graph import Graph
from clinfer.program.passes import run_pipeline
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.sample_sizes import Sample
from clinfer.runtime.engine import Engine
from clinfer.topology import Port
from tests.network.running import check, network_of
from tests.oracle import CpuPlugin, ov
from tests.program.building import context_of

SIZES = ((1, 64), (1, 1), (64, 64), (3, 5))
Shape = tuple[int, ...]


def _i64(*numbers: int) -> ov.Node:
    return ops.constant(np.array(numbers, np.int64))


def _if(x: ov.Node) -> ov.Node:
    bodies = []
    for compute in (ops.relu, ops.abs):
        inner = ops.parameter([-1, -1, -1], np.float32)
        bodies.append(ov.Model([compute(inner)], [inner]))
    node = ops.if_op(ops.greater(ops.reduce_sum(x, _i64(0, 1, 2)), np.float32(0)).output(0))
    node.set_then_body(bodies[0])
    node.set_else_body(bodies[1])
    node.set_input(x.output(0), *(body.get_parameters()[0] for body in bodies))
    node.set_output(*(body.results[0] for body in bodies))
    return node


MODELS: dict[str, tuple[Callable[[ov.Node], ov.Node], tuple[Shape, Shape]]] = {
    "squeeze_front": (lambda x: ops.squeeze(ops.sinh(x), _i64(0)), ((1, 3, 4), (1, 5, 2))),
    "squeeze_joined": (lambda x: ops.squeeze(ops.concat([x, x], 1), _i64(-1)), ((2, 3, 1), (3, 5, 1))),
    "squeeze_two": (lambda x: ops.squeeze(ops.sinh(ops.unsqueeze(x, _i64(1))), _i64(1, -1)), ((2, 3, 1), (4, 9, 1))),
    "squeeze_of_sum": (lambda x: ops.squeeze(ops.add(x, ops.reduce_max(x, _i64(0), True)), _i64(1)),
                       ((2, 1, 4), (5, 1, 3))),
    "reshape_fixed": (lambda x: ops.reshape(ops.sinh(x), _i64(0, 16, 3), True), ((2, 16, 3), (3, 3, 16))),
    "reshape_rest": (lambda x: ops.reshape(ops.sinh(x), _i64(7, 0, -1), True), ((7, 16, 3), (14, 2, 16))),
    "broadcast_fixed": (lambda x: ops.broadcast(ops.sinh(x), _i64(5, 7, 2)), ((5, 7, 1), (1, 7, 2))),
    "sum_with_fixed": (lambda x: ops.add(ops.sinh(x), np.ones((1, 5, 1), np.float32)), ((7, 5, 2), (3, 1, 1))),
    "split": (lambda x: ops.relu(ops.split(ops.sinh(x), np.int64(1), 7).output(3)), ((2, 14, 3), (3, 7, 16))),
    "lengths": (lambda x: ops.relu(ops.variadic_split(x, np.int64(1), np.array([70, -1, 30])).output(1)),
                ((2, 114, 3), (3, 107, 16))),
    "if": (_if, ((2, 3, 4), (3, 1, 5))),
}


def _model(build: Callable[[ov.Node], ov.Node]) -> ov.Model:
    """Input -> what is built -> a transposition, a concatenation and a product, some of which want to share memory."""
    x = ops.parameter([-1, -1, -1], np.float32)
    y = build(x)
    rank = len(y.output(0).get_partial_shape())
    joined = ops.concat([ops.transpose(ops.sigmoid(y), _i64(*range(rank)[::-1]))] * 2, rank - 1)
    return ov.Model([ops.matmul(joined, joined, False, True)], [x])


@pytest.mark.parametrize("name", MODELS)
def test_models_compile_and_run(engine: Engine, rng: np.random.Generator, name: str) -> None:
    build, shapes = MODELS[name]
    model = _model(build)
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for shape in (*shapes, shapes[0]):
        check(network, oracle, [rng.standard_normal(shape).astype(np.float32)])


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_samples_have_the_ranks_of_the_graph(engine: Engine, name: str, sizes: tuple[int, int]) -> None:
    graph, context = Graph(to_topology(_model(MODELS[name][0])).topology), context_of(engine)
    infer_layouts(graph, context)
    sample = Sample(graph, context, *sizes)
    for node in graph:
        for index, declared in enumerate(node.layouts):
            assert sample.layout(Port(node.id, index)).rank == declared.rank
        if name.startswith("squeeze"):
            assert sample.is_inferred(node) or not node.inputs, "the sizes fit what the squeeze demands"


def test_samples_of_decoders_fit_together(engine: Engine) -> None:
    graph, context = Graph(read_source(llama.build_stateful(llama.TINY)).topology), context_of(engine)
    run_pipeline(graph, context)
    for sizes in SIZES:
        sample = Sample(graph, context, *sizes)
        assert all(sample.is_inferred(node) for node in graph if node.primitive.is_heavy), sizes


def test_a_sample_of_a_token_behind_many(engine: Engine) -> None:
    graph, context = Graph(read_source(llama.build_stateful(llama.TINY)).topology), context_of(engine)
    run_pipeline(graph, context)
    sample = Sample(graph, context, 1, 1, 1000)
    attention = [node for node in graph if node.primitive.op_type == "ScaledDotProductAttention"]
    assert len(attention) == llama.TINY.layers
    for node in attention:
        query, key = (sample.layout(port).shape for port in node.inputs[:2])
        assert 1001 in key and 1001 not in query and sample.is_inferred(node)


@pytest.mark.parametrize("shape, wanted", [([-1, 3, -1, -1], (1, 3, 256, 256)), ([-1, -1, -1, 3], (1, 256, 256, 3)),
                                           ([-1, 3, 48, -1], (1, 3, 48, 256)), ([-1, 1, -1, -1], (1, 1, 64, 64)),
                                           ([-1, -1, 3], (1, 64, 3))])
def test_pictures_are_larger(engine: Engine, shape: list[int], wanted: Shape) -> None:
    x = ops.parameter(shape, np.float32)
    graph, context = Graph(to_topology(ov.Model([ops.relu(x)], [x])).topology), context_of(engine)
    infer_layouts(graph, context)
    sample = Sample(graph, context, 1, 64, pictures=256)
    assert [sample.layout(Port(node.id, 0)).shape for node in graph] == [wanted, wanted]
