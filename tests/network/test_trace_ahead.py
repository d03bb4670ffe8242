"""Plans that are ready before the first inference, and what becomes of those that are not."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from openvino import opset13 as ops

from bench.models import llama, t5
from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network import network as network_module
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.network.plans import planner as planner_module
from clinfer.network.plans.node_planner import NodePlan, NodePlanner
from clinfer.network.plans.open_nodes import planner_of
from clinfer.network.plans.planner import Planner
from clinfer.network.plans.samples import incoming_shapes, likely_plans, spread_samples
from clinfer.network.plans.trace_ahead import trace_ahead
from clinfer.runtime.device import find_device
from clinfer.runtime.engine import Engine
from tests.network.loop_models import running_sums
from tests.network.running import check, run_once
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, ov

Rng = np.random.Generator


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The nodes that are planned by themselves, by the names of their primitives."""
    names: list[str] = []
    plan = NodePlanner.plan

    def noted(planner: NodePlanner, index: int, shapes: Any, values: Any, *rest: Any) -> NodePlan:
        if not rest:
            names.append(planner._program.nodes[index].primitive.id)
        return plan(planner, index, shapes, values, *rest)
    monkeypatch.setattr(NodePlanner, "plan", noted)
    monkeypatch.setattr(network_module, "Planner", Planner)
    return names


def _floats(rng: Rng, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def _ready(engine: Engine, model: ov.Model) -> Network:
    program = compile_topology(engine, to_topology(model).topology, OpenVinoShapeInference())
    trace_ahead(program, OpenVinoShapeInference())
    return Network(program, engine.create_stream(), OpenVinoShapeInference())


def _layers() -> ov.Model:
    x = ops.parameter([-1, -1, 32], np.float32)
    sizes = ops.shape_of(x, "i64")
    heads = ops.concat([ops.gather(sizes, [0, 1], 0), np.array([4, 8], np.int64)], 0)
    split = ops.transpose(ops.reshape(x, heads, False), [0, 2, 1, 3])
    weights = ops.softmax(ops.matmul(split, split, False, True), -1)
    joined = ops.reshape(ops.transpose(ops.matmul(weights, split, False, False), [0, 2, 1, 3]), [0, -1, 32], True)
    rows = np.linspace(-1, 1, 32 * 48, dtype=np.float32).reshape(32, 48)
    return ov.Model([ops.matmul(ops.add(x, joined), rows, False, False)], [x])


def test_the_first_inference_finds_its_plan(engine: Engine, rng: Rng, planned: list[str]) -> None:
    model = _layers()
    network, oracle = _ready(engine, model), CpuPlugin(model)
    planned.clear()
    for batch, length in ((1, 44), (4, 61), (1, 1), (1, 57), (2, 48)):
        check(network, oracle, [_floats(rng, batch, length, 32)])
        network.record_traces()
    assert not planned


def test_plans_for_likely_sizes_are_found(engine: Engine) -> None:
    program = compile_topology(engine, to_topology(_layers()).topology, OpenVinoShapeInference())
    trace_ahead(program, OpenVinoShapeInference())
    planner = planner_of(program, OpenVinoShapeInference())
    for sizes, _ in spread_samples():
        for _, plan in likely_plans(program, planner, incoming_shapes(program, sizes)):
            assert not plan.planned, sizes


def test_likely_sizes_are_small_and_large_ones_of_one_and_of_several() -> None:
    samples = [sizes for sizes, _ in spread_samples()]
    assert samples == [sizes for sizes, _ in spread_samples()], "they follow from nothing else"
    for few in (1, 4):
        words = sorted(sizes.words for sizes in samples if (sizes.first == 1) == (few == 1))
        widths = sorted(sizes.pictures[-1] for sizes in samples if (sizes.first == 1) == (few == 1))
        assert words[0] == 1 and words[-1] > 256 and 8 < words[len(words) // 2] < 64
        assert widths[0] < 64 and widths[-1] > 400 and 96 < widths[len(widths) // 2] < 240


def test_what_no_trace_holds_for_is_planned_by_itself_and_recorded_afterwards(
        engine: Engine, rng: Rng, planned: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner_module, "RECORDING_S", 0.0)
    monkeypatch.setattr(planner_module, "MANY_WANTED", 512)
    model = _layers()
    network, oracle = _ready(engine, model), CpuPlugin(model)
    planned.clear()
    traces = sum(map(len, network.program.traces.values()))
    shown = run_once(network, [_floats(rng, 1, 0, 32)])
    by_itself = len(planned)
    assert by_itself == sum(node.shape == "inferred" for segment in shown.segments for node in segment.nodes) > 0
    made = []
    for _ in range(2):
        run_once(network, [_floats(rng, 1, 0, 32)])
        made.append(sum(map(len, network.program.traces.values())) - traces)
    assert made == [0, 1], "an inference that planned makes none, those behind it half of one each"
    monkeypatch.setattr(planner_module, "MANY_WANTED", 1)
    run_once(network, [_floats(rng, 1, 8, 32)])
    run_once(network, [_floats(rng, 2, 8, 32)])
    assert sum(map(len, network.program.traces.values())) > traces + 1, "unless many are wanted"
    network.record_traces()
    check(network, oracle, [_floats(rng, 1, 7, 32)])
    network.record_traces()
    planned.clear()
    check(network, oracle, [_floats(rng, 1, 6, 32)])
    assert not planned


def test_samples_that_contradict_the_model_do_no_harm(engine: Engine, rng: Rng, planned: list[str]) -> None:
    """A mask is as long as what came before and what is new together, which no sample knows."""
    past, new, mask = (ops.parameter(s, np.float32) for s in ([-1, -1, 16], [-1, -1, 16], [-1, -1]))
    both = ops.concat([past, new], 1)
    model = ov.Model([ops.softmax(ops.multiply(both, ops.unsqueeze(mask, np.array([2]))), -1), both],
                     [past, new, mask])
    network, oracle = _ready(engine, model), CpuPlugin(model)
    planned.clear()
    for batch, before, length in ((2, 40, 9), (1, 50, 3), (3, 44, 12)):
        check(network, oracle, [_floats(rng, batch, before, 16), _floats(rng, batch, length, 16),
                                _floats(rng, batch, before + length)])
        network.record_traces()
    assert len(planned) <= 3, planned
    with pytest.raises(ClinferError, match=r"(?s)where: .*broadcast|broadcast"):
        execute(network, [_floats(rng, 2, 8, 16), _floats(rng, 2, 5, 16), _floats(rng, 2, 12)])
    check(network, oracle, [_floats(rng, 2, 8, 16), _floats(rng, 2, 5, 16), _floats(rng, 2, 13)])


def test_a_decoder_finds_its_steps(engine: Engine, rng: Rng, planned: list[str]) -> None:
    size = replace(llama.TINY_GROUPED, layers=1)
    model = llama.build_decoder(size)
    network, oracle = _ready(engine, model), CpuPlugin(model)
    planned.clear()
    for past in (70, 71, 90):
        check(network, oracle, llama.decoder_inputs((1, 1, past), rng, size))
        network.record_traces()
    by_values = {node.primitive.id for node in network.program.nodes if node.kind == "host"}
    assert {*planned} <= by_values, "only long values on the host are computed by themselves"


def test_a_decoder_finds_its_first_step_beside_all_that_an_encoder_read(
        engine: Engine, rng: Rng, planned: list[str]) -> None:
    model = t5.build(size=t5.Size(layers=1, vocabulary=300))
    network, oracle = _ready(engine, model), CpuPlugin(model)
    planned.clear()
    for shape in ((4, 86, 1), (1, 44, 1), (4, 61, 1)):
        check(network, oracle, t5.random_tokens(shape, rng))
        network.record_traces()
    by_values = {node.primitive.id for node in network.program.nodes if node.kind == "host"}
    assert {*planned} <= by_values, "only long values on the host are computed by themselves"


def test_bodies_are_traced_too(engine: Engine, rng: Rng, planned: list[str]) -> None:
    x, start = ops.parameter([-1, -1, 8], np.float32), ops.parameter([-1, 1, 8], np.float32)
    model = ov.Model(running_sums(x, start, 1, 1, (False, False)), [x, start])
    network, oracle = _ready(engine, model), CpuPlugin(model)
    bodies = [body for node in network.program.nodes for body in node.bodies]
    assert bodies and all(body.traces for body in bodies)
    planned.clear()
    for batch, length in ((3, 7), (2, 9)):
        check(network, oracle, [_floats(rng, batch, length, 8), _floats(rng, batch, 1, 8)])
    assert not planned


def test_the_interface_traces_when_it_compiles(rng: Rng, planned: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    device, model = find_device("CPU").name, _layers()
    compiled = Core().compile_model(model, device, {"INFERENCE_PRECISION_HINT": "f32"})
    planned.clear()
    first = compiled([_floats(rng, 4, 61, 32)])[0]
    assert not planned and first.shape == (4, 61, 48)
    imported = Core().import_model(compiled.export_model().getvalue(), device)
    x = _floats(rng, 2, 50, 32)
    from_blob = imported([x])[0]
    assert not planned, "importing traces nothing, and the traces are there"
    monkeypatch.setenv("CLINFER_TRACES", "0")
    plain = Core().compile_model(model, device, {"INFERENCE_PRECISION_HINT": "f32"})
    assert not plain.program.traces
    wanted = plain([x])[0]
    assert planned
    np.testing.assert_allclose(from_blob, wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(compiled([x])[0], wanted, rtol=1e-5, atol=1e-5)
