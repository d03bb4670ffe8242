"""New shapes are planned by traces: when they are used, when not, and that nobody can tell the difference.

That each plan equals the one made node by node is checked everywhere (`tests/checked_plans.py`).
"""
from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.base.errors import ClinferError
from clinfer.base.shape import ANY, UNBOUNDED, Shape
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.kernels.contract import Work
from clinfer.kernels.implementation import StageLaunch
from clinfer.network import network as network_module
from clinfer.network.network import Network
from clinfer.network.plans import tape_runner
from clinfer.network.plans.node_function import MOST_TRACES
from clinfer.network.plans.node_planner import NodePlan, NodePlanner
from clinfer.network.plans.node_trace import make_tape
from clinfer.network.plans.planner import Planner
from clinfer.network.plans.trace_ahead import trace_ahead
from clinfer.network.plans.tracer import NodeCall, Tracer
from clinfer.ops.eltwise.op import Eltwise
from clinfer.runtime.engine import Engine
from clinfer.symbolic.tape import run
from clinfer.symbolic.trace import Trace
from tests.network.running import check, network_of
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, ov


class Counter:
    """Counts the plans that the planner of nodes makes of plain numbers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.nodes: list[int] = []
        plan = NodePlanner.plan

        def counted(planner: NodePlanner, index: int, shapes: Any, values: Any, *rest: Any) -> NodePlan:
            if not rest:
                self.nodes.append(index)
            return plan(planner, index, shapes, values, *rest)
        monkeypatch.setattr(NodePlanner, "plan", counted)
        monkeypatch.setattr(network_module, "Planner", Planner)

    def taken(self) -> int:
        """How many since the last time."""
        count = len(self.nodes)
        self.nodes.clear()
        return count


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> Counter:
    return Counter(monkeypatch)


def _floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def _block(x: ov.Node) -> ov.Node:
    """Attention without weights, with shape arithmetic in between."""
    sizes = ops.shape_of(x, "i64")
    split = ops.concat([ops.gather(sizes, [0, 1], 0), np.array([4, 8], np.int64)], 0)
    heads = ops.transpose(ops.reshape(x, split, False), [0, 2, 1, 3])
    scores = ops.softmax(ops.matmul(heads, heads, False, True), -1)
    joined = ops.reshape(ops.transpose(ops.matmul(scores, heads, False, False), [0, 2, 1, 3]), [0, -1, 32], True)
    return ops.add(x, joined)


def _attention(layers: int) -> ov.Model:
    x = node = ops.parameter([-1, -1, 32], np.float32)
    for _ in range(layers):
        node = _block(node)
    return ov.Model([node], [x])


def _plan_calls(network: Network, shape: Shape) -> int:
    """Calls of Python's functions while a new shape of the first input is planned."""
    calls, tensor = 0, next(iter(network.program.input_tensors.values()))

    def count(_: Any, event: str, __: Any) -> None:
        nonlocal calls
        calls += event == "call"
    sys.setprofile(count)
    try:
        network._planner.plan(0, {tensor: shape}, {})
    finally:
        sys.setprofile(None)
    return calls


def test_a_new_shape_takes_few_calls_per_primitive(engine: Engine, counter: Counter) -> None:
    network = network_of(engine, _attention(6))
    trace_ahead(network.program, OpenVinoShapeInference())
    nodes = len(network.program.segments[0].nodes)
    _plan_calls(network, (2, 7, 32))
    counter.taken()
    assert nodes > 30 and len(network.program.segments) == 1
    calls = [_plan_calls(network, shape) / nodes for shape in ((3, 9, 32), (2, 40, 32), (5, 11, 32))]
    assert counter.taken() == 0 and max(calls) < 3, calls


def _launch(global_size: int, local_size: int) -> StageLaunch:
    return StageLaunch("kernel", (), Work((global_size,), (local_size,)))


def test_a_work_size_that_its_groups_may_not_divide_is_guarded() -> None:
    def told(size: int, local_size: int, given: int) -> bool:
        trace = Trace()
        tape = make_tape(trace, (), [(0, _launch(size * trace.free(64), local_size))])
        return run(tape, (given,), lambda asked: asked.function) is not None
    assert told(4, 4, 63), "4 divides it"
    assert told(1, 16, 48) and not told(1, 16, 40)
    with pytest.raises(ValueError, match="does not divide"):
        told(1, 24, 64)


def test_a_plan_keeps_its_shapes(engine: Engine, counter: Counter) -> None:
    network = network_of(engine, _attention(2))
    trace_ahead(network.program, OpenVinoShapeInference())
    tensor = next(iter(network.program.input_tensors.values()))
    plans = {shape: network._planner.plan(0, {tensor: shape}, {}) for shape in ((2, 7, 32), (3, 9, 32), (3, 8, 32))}
    (output,) = (output.tensor for output in network.program.outputs.values())
    assert {shape: plan.shapes[output] for shape, plan in plans.items()} == {shape: shape for shape in plans}


def test_a_plan_keeps_its_values(engine: Engine, counter: Counter) -> None:
    network = network_of(engine, _attention(1))
    tensor = next(iter(network.program.input_tensors.values()))
    plans = [network._planner.plan(0, {tensor: shape}, {}) for shape in ((2, 7, 32), (3, 9, 32))]
    for plan, shape in zip(plans, ((2, 7, 32), (3, 9, 32)), strict=True):
        told = {tuple(value.reshape(-1).tolist()) for value in plan.values.values()}
        assert shape in told and (*shape[:2], 4, 8) in told, told
    first = next(iter(plans[0].values))
    assert first in plans[0].values and plans[0].values[first] is plans[0].values[first]


def test_new_shapes_hardly_ask_the_planner(engine: Engine, rng: np.random.Generator, counter: Counter) -> None:
    model = _attention(2)
    network, oracle = network_of(engine, model), CpuPlugin(model)
    nodes = len(network.program.segments[0].nodes)
    planned = []
    for length in (40, 50, 42, 43, 44, 45, 46, 47, 48, 49):
        check(network, oracle, [_floats(rng, 2, length, 32)])
        planned.append(counter.taken())
        # An execution itself makes as many as a moment is long enough for.
        network.record_traces()
    assert nodes // 2 <= planned[0] < nodes, "of nodes that are alike and are given the same one is asked"
    assert network.plans_made == 10
    assert sum(planned[2:]) <= nodes // 2, "eight shapes decide about as the two before them"


@pytest.mark.parametrize("in_c", [True, False])
def test_functions_that_traces_ask(engine: Engine, rng: np.random.Generator, counter: Counter, in_c: bool,
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules that are asked because symbols are not for them, in C and without it."""
    if not in_c:
        monkeypatch.setattr(tape_runner, "function_in_c", lambda _: None)
    monkeypatch.setattr(Tracer, "infer", lambda tracer, _, rule, shapes, values: tracer._called(
        False, rule, shapes, values))
    model = _attention(2)
    network, oracle = network_of(engine, model), CpuPlugin(model)
    trace_ahead(network.program, OpenVinoShapeInference())
    assert any(tape.asked for tapes in network.program.traces.values() for tape in tapes)
    counter.taken()
    for shape in ((2, 30), (3, 33), (1, 40), (2, 7)):
        check(network, oracle, [_floats(rng, *shape, 32)])
    assert counter.taken() == 0


def test_a_shape_that_never_changes_is_not_recorded(engine: Engine, rng: np.random.Generator) -> None:
    model = _attention(1)
    model.reshape([2, 9, 32])
    network = network_of(engine, model)
    trace_ahead(network.program, OpenVinoShapeInference())
    for _ in range(3):
        execute(network, [_floats(rng, 2, 9, 32)])
        network.record_traces()
    assert not network.program.traces


def test_equal_nodes_and_networks_share_recordings(engine: Engine, rng: np.random.Generator, counter: Counter) -> None:
    network, shapes = network_of(engine, _attention(4)), ((2, 30), (3, 33))
    execute(network, [_floats(rng, *shapes[0], 32)])
    network.record_traces()
    nodes = len(network.program.segments[0].nodes)
    assert nodes // 4 <= counter.taken() < nodes // 2, "of four layers one is planned"
    assert sum(map(len, network.program.traces.values())) < nodes // 2, "and traced"
    execute(network, [_floats(rng, *shapes[1], 32)])
    network.record_traces()
    counter.taken()
    other = Network(network.program, engine.create_stream(), OpenVinoShapeInference())
    for shape in shapes:
        execute(other, [_floats(rng, *shape, 32)])
    assert counter.taken() == 0, "the second network plans nothing"


def test_shapes_on_both_sides_of_every_decision(engine: Engine, rng: np.random.Generator) -> None:
    model = _attention(1)
    network, oracle = network_of(engine, model), CpuPlugin(model)
    shapes = [(1, 1), (1, 2), (2, 1), (0, 3), (3, 0), (1, 65), (4, 64), (2, 3)]
    for index in rng.permutation(3 * len(shapes)):
        batch, length = shapes[index % len(shapes)]
        check(network, oracle, [_floats(rng, batch, length + int(rng.integers(0, 3)), 32)])


def test_a_node_that_decides_in_many_ways(engine: Engine, rng: np.random.Generator, counter: Counter) -> None:
    """As many as attention has on a CPU: of one text or several, of one word or many, each by several kernels."""
    x, axis = ops.parameter([-1] * 5, np.float32), ops.parameter([2], np.int64)
    network = network_of(engine, ov.Model([ops.relu(ops.reduce_sum(x, axis, True))], [x, axis]))
    ways = [np.array(pair, np.int64) for pair in permutations(range(5), 2)]
    for way in ways:
        execute(network, [_floats(rng, 2, 3, 4, 5, 6), way])
        network.record_traces()
    counter.taken()
    for way in ways:
        execute(network, [_floats(rng, 2, 3, 4, 5, 7), way])
    assert counter.taken() == 0


def test_a_node_that_decides_in_too_many_ways(engine: Engine, rng: np.random.Generator) -> None:
    """Axes come by value, and each value is another way."""
    x, axis = ops.parameter([-1] * 6, np.float32), ops.parameter([2], np.int64)
    model = ov.Model([ops.relu(ops.reduce_sum(x, axis, True))], [x, axis])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for first in range(6):
        for second in (a for a in range(6) if a != first):
            check(network, oracle, [_floats(rng, *rng.integers(1, 5, 6)), np.array([first, second], np.int64)])
    assert max(map(len, network.program.traces.values())) <= MOST_TRACES


def _refused(network: Network, inputs: Sequence[np.ndarray], message: str) -> None:
    with pytest.raises(ClinferError, match=message):
        execute(network, inputs)


def test_shapes_that_do_not_fit_are_refused_in_every_form(engine: Engine, rng: np.random.Generator) -> None:
    """By the planner for the first shape, and behind traces for later ones."""
    a, b = ops.parameter([-1, 3], np.float32), ops.parameter([-1, 3], np.float32)
    pairs = ops.reshape(ops.concat([a, b], 0), np.array([-1, 2, 3], np.int64), False)
    model = ov.Model([ops.multiply(pairs, ops.unsqueeze(ops.add(a, b), 0))], [a, b])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for rows in (2, 4):
        _refused(network, [_floats(rng, rows, 3), _floats(rng, rows + 1, 3)], r"(?s)where: .*")
    check(network, oracle, [_floats(rng, 2, 3), _floats(rng, 2, 3)])
    _refused(network, [_floats(rng, 5, 3), _floats(rng, 4, 3)], r"(?s)where: .*")
    check(network, oracle, [_floats(rng, 2, 3), _floats(rng, 2, 3)])


def test_a_tensor_too_large_behind_a_recording(engine: Engine, rng: np.random.Generator) -> None:
    x, times = ops.parameter([-1, 4], np.float32), ops.parameter([2], np.int64)
    model = ov.Model([ops.relu(ops.tile(x, times))], [x, times])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for rows in (3, 5, 7):
        check(network, oracle, [_floats(rng, 2, 4), np.array([rows, 2], np.int64)])
    _refused(network, [_floats(rng, 2, 4), np.array([2**20, 2**16], np.int64)], "larger than")
    check(network, oracle, [_floats(rng, 2, 4), np.array([4, 3], np.int64)])


def test_sizes_that_the_device_decides(engine: Engine, rng: np.random.Generator, counter: Counter) -> None:
    x = ops.parameter([-1], np.float32)
    where = ops.reshape(ops.non_zero(ops.greater(x, np.float32(0)), "i64"), [-1], False)
    model = ov.Model([ops.multiply(ops.gather(x, where, np.int64(0)), np.float32(3))], [x])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    planned = []
    for length in (60, 70, 80, 61, 62, 63, 64, 65, 66, 67, 68, 69):
        check(network, oracle, [_floats(rng, length)])
        planned.append(counter.taken())
    print(planned)
    assert sum(planned[4:]) <= planned[0], "eight shapes decide about as the others before them"
    check(network, oracle, [np.full(5, -1, np.float32)])


@pytest.mark.parametrize("told", [(None,), ((ANY,),), ((UNBOUNDED,),), ((2**40, 0, 2**40),)])
def test_what_a_trace_calls_gives_sizes(told: tuple[Shape | None, ...]) -> None:
    """A rule that a trace calls may answer other numbers with no sizes at all."""
    relu = Eltwise("node", ("x",), mode="Relu")
    call = NodeCall(False, {}, ())
    assert call.of(relu, lambda shapes, values: ((2, 3),))(((2, 3),)) == ((2, 3),)
    with pytest.raises(ClinferError, match="negative, or too large to be represented"):
        call.of(relu, lambda shapes, values: told)(((2, 3),))
