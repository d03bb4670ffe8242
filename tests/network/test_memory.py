"""Memory of a network: bounded by the largest shape, safe when it runs out, safe when it belongs to the caller."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.memory.memory_pool import SETTLED_AFTER
from clinfer.network.memory.preallocation import Preallocation
from clinfer.network.network import Network
from clinfer.runtime.engine import Engine
from clinfer.runtime.ledger import Share
from tests.network.running import check, network_of, run_once
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, ov


@pytest.fixture
def own_engine(engine: Engine) -> Engine:
    """An engine of this test alone, so that nothing else moves its ledger."""
    return Engine(engine.device, engine.capabilities)


def _floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def _branching_model() -> ov.Model:
    x = ops.parameter([-1, -1, 8], np.float32)
    a = ops.softmax(x, 1)
    b = ops.concat([a, ops.reduce_sum(a, ops.constant([1], np.int64), True), x], 1)
    c = ops.softmax(ops.transpose(b, ops.constant([0, 2, 1], np.int64)), 2)
    return ov.Model([ops.multiply(c, ops.reduce_max(c, ops.constant([2], np.int64), True)), a], [x])


def _held(network: Network, shape: tuple[int, ...]) -> int:
    execute(network, [np.zeros(shape, np.float32)])
    return network.program.engine.ledger.current


def test_memory_is_bounded_by_the_largest_shape(own_engine: Engine, rng: np.random.Generator) -> None:
    shapes = [(int(r), int(c), 8) for r, c in rng.integers(1, 64, (60, 2))]
    shapes.insert(30, (64, 64, 8))
    largest = _held(network_of(own_engine, _branching_model()), (64, 64, 8))
    network, oracle = network_of(own_engine, _branching_model()), CpuPlugin(_branching_model())
    for shape in shapes:
        check(network, oracle, [_floats(rng, *shape)])
        assert own_engine.ledger.current <= 1.25 * largest


def test_room_for_likely_sizes_stays_until_no_shape_is_new(own_engine: Engine, rng: np.random.Generator) -> None:
    program = network_of(own_engine, _branching_model()).program
    network = Network(program, own_engine.create_stream(), OpenVinoShapeInference(),
                      preallocation=Preallocation(room=1 << 24))
    network.prepare()
    oracle, pool = CpuPlugin(_branching_model()), network._pool
    for columns in (9, 30, 31, 60):
        for _ in range(SETTLED_AFTER):
            run_once(network, [_floats(rng, 4, columns, 8)])
            assert pool.is_loose is own_engine.capabilities.overlapping_parts
    run_once(network, [_floats(rng, 4, 9, 8)])
    assert not pool.is_loose
    for columns in (9, 64, 60):
        check(network, oracle, [_floats(rng, 4, columns, 8)])


def test_a_network_gives_back_what_it_held(own_engine: Engine) -> None:
    before = own_engine.ledger.current
    network = network_of(own_engine, _branching_model())
    assert _held(network, (9, 9, 8)) > before
    del network
    assert own_engine.ledger.current == before


def _looping_model() -> ov.Model:
    """A loop over the rows of its input, whose results are joined, and something of each kind around it."""
    x, row, state = (ops.parameter(s, np.float32) for s in ([-1, 8], [1, 8], [1, 8]))
    added = ops.add(ops.softmax(row, 1), state)
    loop = ops.tensor_iterator()
    loop.set_function(ov.Model([added, ops.softmax(added, 1)], [row, state]))
    loop.set_sliced_input(row, x.output(0), 0, 1, 1, -1, 0)
    loop.set_merged_input(state, ops.constant(np.zeros((1, 8), np.float32)).output(0), added.output(0))
    joined = loop.get_concatenated_slices(added.output(0), 0, 1, 1, -1, 0)
    return ov.Model([ops.softmax(joined, 1)], [x])


@pytest.mark.parametrize("model", [_branching_model, _looping_model], ids=["branching", "looping"])
def test_all_but_constants_is_given_back(own_engine: Engine, rng: np.random.Generator,
                                         model: Callable[[], ov.Model]) -> None:
    network, oracle = network_of(own_engine, model()), CpuPlugin(model())
    constants, fused = own_engine.ledger.current, (4, 8) if model is _branching_model else (8,)
    for rows in (5, 40, 5):
        inputs = [_floats(rng, rows, *fused)]
        check(network, oracle, inputs)
        assert own_engine.ledger.current > constants
        network.release_memory()
        assert own_engine.ledger.current == constants
        assert not network._plans


def test_plans_are_bounded_and_made_again(engine: Engine, rng: np.random.Generator,
                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clinfer.network.plans.plan_cache.PLAN_CAPACITY", 3)
    model = _branching_model()
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for rows in (1, 2, 3, 1, 4, 1, 2, 3, 3, 4, 1):
        check(network, oracle, [_floats(rng, rows, 2, 8)])
        assert len(network._plans) <= 3
    assert network.plans_made == 8


def test_an_output_that_grows_does_not_stand_beside_its_old_memory(own_engine: Engine) -> None:
    x = ops.parameter([-1], np.float32)
    network = network_of(own_engine, ov.Model([ops.relu(x)], [x]))
    name = next(iter(network.program.inputs))
    memory = own_engine.allocate_bytes(4 * 200_000)
    for length in (100_000, 200_000):
        network.set_input(name, memory, (length,))
        network.execute()
    assert own_engine.ledger.peak < 4 * (200_000 + 1.1 * 200_000) + 1000


def _two_segments() -> ov.Model:
    """The second segment needs larger slots than the first, and waits for a sum from the device."""
    x = ops.parameter([-1, 4], np.float32)
    wide = ops.softmax(x, 1)
    total = ops.reshape(ops.convert(ops.reduce_sum(wide, ops.constant([0, 1], np.int64), True), "i64"),
                        ops.constant([1], np.int64), False)
    repeats = ops.concat([ops.add(ops.multiply(total, np.int64(0)), np.int64(50)), ops.constant([1], np.int64)], 0)
    tiled = ops.softmax(ops.tile(x, repeats), 1)
    return ov.Model([ops.reduce_sum(ops.multiply(ops.exp(tiled), tiled), ops.constant([1], np.int64), False)], [x])


@pytest.mark.parametrize("model", [_two_segments, _branching_model], ids=["two-segments", "branching"])
def test_running_out_of_memory_leaves_the_network_usable(
        own_engine: Engine, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch,
        model: Callable[[], ov.Model]) -> None:
    what = model()
    network, oracle = network_of(own_engine, what), CpuPlugin(what)
    fused = (4,) if len(what.input(0).partial_shape) == 2 else (5, 8)
    name = next(iter(network.program.inputs))
    small = _floats(rng, 6, *fused)
    for allowed in range(6):
        check(network, oracle, [small])
        large = Layout.planar((3000, *fused), network.program.inputs[name].element_type)
        network.set_input(name, own_engine.allocate_memory(large, zero=True), large.static_shape)
        with monkeypatch.context() as patch:
            _allow(patch, own_engine, allowed)
            try:
                network.execute()
            except ClinferError as error:
                assert "no more" in str(error)
    check(network, oracle, [small])
    for plan in network._ready.current:
        assert plan is not None and network._pool.holds(plan.slot_bytes)


def _allow(patch: pytest.MonkeyPatch, engine: Engine, count: int) -> None:
    """Let the engine make that many allocations and no more."""
    reserve, left = engine.ledger.reserve, [count]

    def limited(nbytes: int, what: str, allocation_type: str) -> Share:
        if not left[0]:
            raise ClinferError("no more memory")
        left[0] -= 1
        return reserve(nbytes, what, allocation_type)
    patch.setattr(engine.ledger, "reserve", limited)


def test_an_input_that_was_released_is_refused_every_time(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([4], np.float32)
    model = ov.Model([ops.multiply(ops.softmax(x, 0), x)], [x])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    name, declared = next(iter(network.program.inputs.items()))
    check(network, oracle, [_floats(rng, 4)])
    for use_first in (False, True):
        memory = engine.allocate_memory(Layout.planar((4,), declared.element_type), zero=True)
        network.set_input(name, memory, (4,))
        if use_first:
            network.execute()
        memory.release()
        for _ in range(2):
            with pytest.raises(ClinferError, match="released"):
                network.execute()
    check(network, oracle, [_floats(rng, 4)])


def test_an_input_as_its_own_output(engine: Engine) -> None:
    x = ops.parameter([4], np.float32)
    network = network_of(engine, ov.Model([ops.result(x), ops.relu(x)], [x]))
    name, declared = next(iter(network.program.inputs.items()))
    memory = engine.allocate_memory(Layout.planar((4,), declared.element_type), zero=True)
    network.set_input(name, memory, (4,))
    first = next(iter(network.program.outputs))
    network.set_output(first, memory.reinterpret(Layout.planar((4,), declared.element_type)))
    assert network.execute()[first].to_numpy().tolist() == [0, 0, 0, 0]


def test_an_out_of_order_queue_computes_the_same(engine: Engine, rng: np.random.Generator) -> None:
    model = _two_segments()
    ordered, oracle = network_of(engine, model), CpuPlugin(model)
    network = Network(ordered.program, engine.create_stream(in_order=False), OpenVinoShapeInference())
    for rows in (40, 3, 40):
        check(network, oracle, [_floats(rng, rows, 4)])
