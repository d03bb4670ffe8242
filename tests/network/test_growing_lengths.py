"""A length that grows by one from inference to inference: no plan, no memory and no code is made for it."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from openvino import opset13 as ops

from bench.models import llama
from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.frontend.transformations import prepare
from clinfer.network import network as network_module
from clinfer.network.compile import compile_topology
from clinfer.network.memory.memory_pool import MemoryPool
from clinfer.network.network import Network
from clinfer.network.plans import node_function
from clinfer.network.plans.node_planner import NodePlanner
from clinfer.network.plans.planner import Planner
from clinfer.network.plans.trace_ahead import trace_ahead
from clinfer.runtime.engine import Engine
from tests.network.running import check, network_of, run_once
from tests.oracle import CpuPlugin, ov

Rng = np.random.Generator
SIZE = replace(llama.TINY_GROUPED, layers=2)


def _decoder(engine: Engine) -> Network:
    program = compile_topology(engine, to_topology(prepare(llama.build_decoder(SIZE))).topology,
                               OpenVinoShapeInference())
    trace_ahead(program, OpenVinoShapeInference())
    return Network(program, engine.create_stream(), OpenVinoShapeInference())


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans are not made a second time by nodes, which would count."""
    monkeypatch.setattr(network_module, "Planner", Planner)


def test_steps_of_a_decoder_equal_the_oracle(engine: Engine, rng: Rng) -> None:
    network, oracle = _decoder(engine), CpuPlugin(llama.build_decoder(SIZE))
    for shape in ((1, 1, 30), *((1, 1, past) for past in range(31, 44)), (2, 1, 12), (2, 1, 13), (1, 1, 44), (1, 1, 45),
                  (1, 5, 45), (1, 1, 50)):
        check(network, oracle, llama.decoder_inputs(shape, rng, SIZE))


def test_a_steady_state_makes_nothing(engine: Engine, unchecked: None, rng: Rng,
                                      monkeypatch: pytest.MonkeyPatch) -> None:
    network = _decoder(engine)
    steps = [llama.decoder_inputs((1, 1, past), rng, SIZE) for past in range(64, 190)]
    for arrays in steps[:40]:
        run_once(network, arrays)
    network.record_traces()
    arranged, by_nodes, traced = [], [], []
    fit, plan, make = MemoryPool._plan_again, NodePlanner.plan, node_function.make_tape
    monkeypatch.setattr(MemoryPool, "_plan_again", lambda *args: (arranged.append(args[1]), fit(*args))[1])
    monkeypatch.setattr(NodePlanner, "plan", lambda *args: (by_nodes.append(args[1]), plan(*args))[1])
    monkeypatch.setattr(node_function, "make_tape", lambda *args: (traced.append(args), make(*args))[1])
    made, kept, kernels = network.plans_made, len(network._plans), len(network._bindings.kernels)
    for arrays in steps[40:]:
        record = run_once(network, arrays)
        assert {segment.reason for segment in record.segments} == {"continued"} and not record.plans_made
    assert network.plans_continued >= len(steps) - 40
    assert (network.plans_made, len(network._plans), len(network._bindings.kernels)) == (made, kept, kernels)
    assert not by_nodes and not traced
    assert len(arranged) <= 6, "memory is arranged when a length has grown by a quarter"


def test_a_long_generation_gives_up_no_other_plan(engine: Engine, unchecked: None, rng: Rng,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clinfer.network.plans.plan_cache.PLAN_CAPACITY", 4)
    network = _decoder(engine)
    prompts = [llama.decoder_inputs((1, length, 0), rng, SIZE) for length in (3, 9)]
    tokens = [llama.decoder_inputs((1, 1, past), rng, SIZE) for past in range(20, 40)]
    # Lengths at which other kernels are chosen are traced the first time.
    for arrays in (*tokens, *prompts, *tokens):
        run_once(network, arrays)
    assert network.plans_continued >= len(tokens)
    made = network.plans_made
    for arrays in prompts:
        run_once(network, arrays)
    assert network.plans_made == made, "the plans of the prompts are still there"


def _side(x: ov.Node, y: ov.Node) -> ov.Model:
    """Most of it depends on x alone, one node on y too."""
    node = x
    for _ in range(4):
        node = ops.softmax(node, 1)
    total = ops.add(ops.reduce_sum(node, np.array([0]), True), np.float32(1))
    return ov.Model([total, ops.softmax(ops.add(y, ops.reduce_sum(y, np.array([0]), True)), 0)], [x, y])


def test_a_plan_that_continues_one_is_told_and_found_again(engine: Engine, rng: Rng) -> None:
    model = _side(ops.parameter([-1, 8], np.float32), ops.parameter([-1, 8], np.float32))
    network, oracle = network_of(engine, model), CpuPlugin(model)
    told = []
    for rows, others in ((5, 5), (5, 6), (5, 6), (5, 7), (6, 7), (5, 6), (5, 5)):
        arrays = [rng.standard_normal((count, 8)).astype(np.float32) for count in (rows, others)]
        record = run_once(network, arrays)
        check(network, oracle, arrays)
        told.append([(segment.reason, segment.changed_nodes) for segment in record.segments])
    reasons = [segments[0][0] if segments else "" for segments in told]
    assert reasons == ["first sight", "continued", "", "continued", "first sight", "first sight", ""], told
    assert told[1][0][1] < told[0][0][1] / 2, "only what depends on y changed"


def test_an_error_in_between_leaves_no_half_plan(engine: Engine, rng: Rng) -> None:
    x, y, z = (ops.parameter([-1, 8], np.float32) for _ in range(3))
    node = x
    for _ in range(8):
        node = ops.softmax(node, 1)
    model = ov.Model([node, ops.softmax(ops.multiply(ops.softmax(y, 1), z), 0)], [x, y, z])
    network, oracle = network_of(engine, model), CpuPlugin(model)

    def rows(*counts: int) -> list[np.ndarray]:
        return [rng.standard_normal((count, 8)).astype(np.float32) for count in counts]
    for count in (5, 6):
        check(network, oracle, rows(4, count, count))
    with pytest.raises(Exception, match="broadcast"):
        run_once(network, rows(4, 7, 8))
    for count in (6, 8, 7, 5):
        check(network, oracle, rows(4, count, count))
