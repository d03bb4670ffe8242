"""Ifs whose bodies give sizes that the inputs tell: what reads them is planned before they run."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.base.errors import ClinferError
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.network import Network
from clinfer.network.plans.trace_ahead import trace_ahead
from clinfer.ops.if_op.op import If
from clinfer.program.blobs.programs import load_program, save_program
from clinfer.runtime.engine import Engine
from tests.network.loop_models import Rng, floats
from tests.network.running import check, network_of, run_once
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, ov

Body = Callable[[ov.Node, ov.Node], tuple[ov.Node, ov.Node]]


def _chosen(condition: ov.Node, x: ov.Node, y: ov.Node, bodies: tuple[Body, Body]) -> list[ov.Output]:
    """What two bodies give of two matrices, two outputs each."""
    chosen = ops.if_op(condition.output(0))
    pairs = [[ops.parameter([-1, -1], np.float32) for _ in range(2)] for _ in bodies]
    given = [[ops.result(made) for made in body(*pair)] for body, pair in zip(bodies, pairs, strict=True)]
    for put, results, pair in zip((chosen.set_then_body, chosen.set_else_body), given, pairs, strict=True):
        put(ov.Model(results, pair))
    for source, *inner in zip((x, y), *pairs, strict=True):
        chosen.set_input(source.output(0), *inner)
    return [chosen.set_output(*both) for both in zip(*given, strict=True)]


def _turned(x: ov.Node, y: ov.Node) -> tuple[ov.Node, ov.Node]:
    return ops.transpose(ops.exp(x), np.array([1, 0])), ops.add(x, y)


def _products(x: ov.Node, y: ov.Node) -> tuple[ov.Node, ov.Node]:
    return ops.matmul(x, y, False, True), ops.reduce_max(y, np.array([0]), True)


def _as_given(x: ov.Node, y: ov.Node) -> tuple[ov.Node, ov.Node]:
    return y, y


def _model(bodies: tuple[Body, Body], is_computed: bool = False) -> ov.Model:
    """Work before and behind an If, whose condition is an input or computed from one."""
    x, y = (ops.parameter([-1, -1], np.float32) for _ in range(2))
    condition = ops.parameter([1], bool)
    by = ops.greater(ops.reduce_sum(x, np.array([0, 1]), False), np.float32(0)) if is_computed else condition
    outputs = _chosen(by, ops.tanh(x), ops.relu(y), bodies)
    return ov.Model([ops.softmax(ops.multiply(output, np.float32(2)), 1) for output in outputs], [condition, x, y])


def _inputs(rng: Rng, choice: bool, rows: int, columns: int, others: int | None = None) -> list[np.ndarray]:
    return [np.array([choice]), floats(rng, rows, columns), floats(rng, others or rows, columns)]


@pytest.mark.parametrize("bodies", [(_turned, _as_given), (_as_given, _products), (_products, _turned)])
def test_bodies_that_give_other_sizes(engine: Engine, rng: Rng, bodies: tuple[Body, Body]) -> None:
    model = _model(bodies)
    network, oracle = network_of(engine, model), CpuPlugin(model)
    assert len(network.program.segments) == 1
    for rows, columns in ((2, 5), (1, 1), (7, 3), (2, 5), (1, 9), (7, 3)):
        for choice in (True, False):
            others = int(rng.integers(1, 9)) if _turned not in bodies else None
            check(network, oracle, _inputs(rng, choice, rows, columns, others))


def test_what_a_body_computes_from_sizes_is_known_behind_the_run(engine: Engine, rng: Rng) -> None:
    model = _model((_as_given, lambda x, y: (ops.concat([x, y], 0), y)))
    network, oracle = network_of(engine, model), CpuPlugin(model)
    assert len(network.program.segments) > 1
    for choice in (True, False):
        check(network, oracle, _inputs(rng, choice, 3, 5, 2))


def test_a_condition_from_the_device_is_waited_for_once(engine: Engine, rng: Rng) -> None:
    model = _model((_turned, _products), is_computed=True)
    network, oracle = network_of(engine, model), CpuPlugin(model)
    assert len(network.program.segments) == 2
    for rows, columns in ((2, 5), (4, 1), (3, 3)):
        for sign in (-1, 1):
            condition, x, y = _inputs(rng, True, rows, columns)
            check(network, oracle, [condition, sign * np.abs(x), y])


def test_traces_tell_the_shapes(engine: Engine, rng: Rng) -> None:
    model = _model((_turned, _products))
    network, oracle = network_of(engine, model), CpuPlugin(model)
    trace_ahead(network.program, OpenVinoShapeInference())
    for choice in (True, False):
        execute(network, _inputs(rng, choice, 2, 3))
        network.record_traces()
    for number, (choice, rows, columns) in enumerate(((True, 4, 9), (False, 4, 9), (True, 5, 7), (False, 3, 6)), 3):
        inputs = _inputs(rng, choice, rows, columns)
        segment, = (each for each in run_once(network, inputs).segments if not each.within)
        assert {node.shape for node in segment.nodes if node.primitive == "If"} == {"traced"}
        assert network.plans_made == number
        check(network, oracle, inputs)


@pytest.mark.parametrize("sizes", [(((1, 9),), 1), ((), 3), (((7, 0),), 1), (((1, 0),),)])
def test_a_blob_that_tells_wrong_sizes_is_an_error(engine: Engine, rng: Rng, sizes: Any) -> None:
    program = network_of(engine, _model((_turned, _products))).program

    def told(primitive: If) -> If:
        then, otherwise = primitive.results
        return replace(primitive, results=((sizes, then[1]), otherwise))
    nodes = tuple(replace(node, primitive=told(node.primitive)) if node.bodies else node for node in program.nodes)
    blob = save_program(replace(program, nodes=nodes), None, {}).to_bytes()
    loaded, _ = load_program(memoryview(blob), engine, {})
    network = Network(loaded, engine.create_stream(), OpenVinoShapeInference())
    with pytest.raises(ClinferError, match="If"):
        execute(network, _inputs(rng, True, 2, 3))
