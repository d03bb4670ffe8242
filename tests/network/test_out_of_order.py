"""Launches that need not follow one another: whatever order their waits allow, the results are the same."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from openvino import opset13 as ops

from bench.models import mamba
from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.frontend.transformations import prepare
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.program.options import BuildOptions
from clinfer.program.program import Program
from clinfer.runtime.engine import Engine
from clinfer.runtime.kernel import Kernel
from clinfer.runtime.launches import WorkSize
from clinfer.runtime.stream import Stream
from tests.models.zoo import EVERYWHERE
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import ov

Waits = Sequence[Sequence[int]]
_OUT_OF_ORDER = BuildOptions(execution_order="out_of_order")


class ShuffledStream(Stream):
    """Runs launches that may be out of order in an order of the test's choice, one at a time."""

    def __init__(self, engine: Engine, choose: Callable[[Waits], Sequence[int]]) -> None:
        super().__init__(engine, engine.create_stream().cl_queue)
        self.in_order = False
        self.choose = choose
        self.asked: list[Waits] = []

    def enqueue_waiting(self, launches: Sequence[tuple[Kernel, WorkSize]], waits: Waits) -> None:
        self.asked.append(waits)
        for number in self.choose(waits):
            self.enqueue(*launches[number])


def all_orders(waits: Waits) -> Iterator[list[int]]:
    """Every order in which launches may run."""
    def follow(done: list[int]) -> Iterator[list[int]]:
        if len(done) == len(waits):
            yield done
        for number, needed in enumerate(waits):
            if number not in done and all(other in done for other in needed):
                yield from follow([*done, number])
    return follow([])


def any_order(rng: np.random.Generator) -> Callable[[Waits], list[int]]:
    """A random order in which launches may run; half of the time one that runs late ones as early as it can."""
    def choose(waits: Waits) -> list[int]:
        eager, order = bool(rng.integers(2)), list[int]()
        left = set(range(len(waits)))
        while left:
            free = sorted(n for n in left if left.isdisjoint(waits[n]))
            order.append(free[-1] if eager else int(rng.choice(free)))
            left.remove(order[-1])
        return order
    return choose


def _poison(network: Network) -> None:
    """Let everything in the network's memory be NaN, or a large number."""
    for chunk in network._pool._chunks:
        network.stream.fill(chunk.memory, 0xFF)


def _run(network: Network, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    _poison(network)
    return execute(network, inputs)


def _same(one: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def _program(engine: Engine, model: ov.Model) -> Program:
    return compile_topology(engine, to_topology(model).topology, OpenVinoShapeInference(), _OUT_OF_ORDER)


def _shuffled(program: Program, choose: Callable[[Waits], Sequence[int]]) -> tuple[Network, ShuffledStream]:
    stream = ShuffledStream(program.engine, choose)
    return Network(program, stream, OpenVinoShapeInference()), stream


def _branches() -> ov.Model:
    """Two branches of three steps each, which meet, and a result of one of them."""
    x = ops.parameter([-1, 6], np.float32)
    turned = ops.constant([1, 0], np.int64)
    ends = []
    for axis in (0, 1):
        first = ops.softmax(x, axis)
        ends.append(ops.softmax(ops.transpose(first, turned), axis))
    return ov.Model([ops.matmul(ends[0], ends[1], False, True), ends[1]], [x])


def _x(rng: np.random.Generator, rows: int = 5) -> list[np.ndarray]:
    return [rng.standard_normal((rows, 6)).astype(np.float32)]


def test_every_order_of_a_small_graph_gives_the_same(engine: Engine, rng: np.random.Generator) -> None:
    inputs = _x(rng)
    wanted = execute(network_of(engine, _branches()), inputs)
    network, stream = _shuffled(_program(engine, _branches()), lambda waits: range(len(waits)))
    assert _same(execute(network, inputs), wanted)
    orders = list(all_orders(stream.asked[-1]))
    assert len(orders) >= 20
    for order in orders:
        stream.choose = lambda _, order=order: order  # type: ignore[misc]
        assert _same(_run(network, inputs), wanted), order


def test_a_missing_wait_is_found(engine: Engine, rng: np.random.Generator) -> None:
    inputs = _x(rng)
    network, stream = _shuffled(_program(engine, _branches()), lambda waits: range(len(waits)))
    wanted = execute(network, inputs)
    waits = stream.asked[-1]
    edges = [(number, other) for number, needed in enumerate(waits) for other in needed]
    assert len(edges) >= 5
    for number, other in edges:
        fewer = [[w for w in needed if (n, w) != (number, other)] for n, needed in enumerate(waits)]
        found = False
        for order in all_orders(fewer):
            stream.choose = lambda _, order=order: order  # type: ignore[misc]
            found = found or not _same(_run(network, inputs), wanted)
        assert found, (number, other)


def test_memory_shared_as_for_an_in_order_queue_is_found(engine: Engine, rng: np.random.Generator) -> None:
    inputs = _x(rng)
    in_order = network_of(engine, _branches(), BuildOptions(skipped_passes=frozenset({"alias_buffers"}))).program
    program = _program(engine, _branches())
    assert sum(map(len, program.dependencies)) > sum(map(len, in_order.dependencies))
    network, stream = _shuffled(replace(program, dependencies=in_order.dependencies), lambda waits: range(len(waits)))
    wanted = execute(network, inputs)
    results = []
    for order in all_orders(stream.asked[-1]):
        stream.choose = lambda _, order=order: order  # type: ignore[misc]
        results.append(_same(_run(network, inputs), wanted))
    assert not all(results)


@pytest.mark.sampled(1 / 2)
@pytest.mark.parametrize("name", ["yolo_small", "unet_small", "bert_small",
                                  pytest.param("ppocr_rec", marks=pytest.mark.first_device)])
def test_random_orders_of_models(engine: Engine, rng: np.random.Generator, name: str) -> None:
    row = EVERYWHERE[name]
    topology = to_topology(prepare(row.build())).topology
    ordered = Network(compile_topology(engine, topology, OpenVinoShapeInference()), engine.create_stream(),
                      OpenVinoShapeInference())
    program = compile_topology(engine, topology, OpenVinoShapeInference(), _OUT_OF_ORDER)
    network, _ = _shuffled(program, any_order(rng))
    for shape in row.shapes[:3]:
        inputs = row.inputs(shape, rng)
        wanted = execute(ordered, inputs)
        for _ in range(4):
            assert _same(_run(network, inputs), wanted), shape


def test_data_dependent_graphs_in_random_orders(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([-1, 6], np.float32)
    soft = ops.softmax(x, 1)
    places = ops.non_zero(ops.greater(soft, np.float32(0.17)))
    picked = ops.gather_nd(ops.softmax(soft, 0), ops.transpose(places, ops.constant([1, 0], np.int64)))
    model = ov.Model([ops.softmax(picked, 0), ops.softmax(ops.softmax(x, 0), 1), soft], [x])
    ordered = network_of(engine, model)
    network, _ = _shuffled(_program(engine, model), any_order(rng))
    for rows in (4, 9, 2, 4):
        inputs = _x(rng, rows)
        wanted = execute(ordered, inputs)
        for _ in range(3):
            assert _same(_run(network, inputs), wanted), rows


def test_an_out_of_order_queue_with_events(engine: Engine, rng: np.random.Generator) -> None:
    if not engine.capabilities.out_of_order_queue:
        pytest.skip("the device has no out-of-order queue")
    row = EVERYWHERE["yolo_small"]
    topology = to_topology(prepare(row.build())).topology
    ordered = Network(compile_topology(engine, topology, OpenVinoShapeInference()), engine.create_stream(),
                      OpenVinoShapeInference())
    program = compile_topology(engine, topology, OpenVinoShapeInference(), _OUT_OF_ORDER)
    network = Network(program, engine.create_stream(in_order=False), OpenVinoShapeInference())
    for shape in row.shapes:
        inputs = row.inputs(shape, rng)
        wanted = execute(ordered, inputs)
        for _ in range(2):
            assert _same(execute(network, inputs), wanted), shape
    in_order = Network(program, engine.create_stream(), OpenVinoShapeInference())
    assert _same(execute(in_order, inputs), wanted)
    assert not any(plan is None or plan.waits for plan in in_order._ready.current)


def test_loops_stand_between_launches(engine: Engine, rng: np.random.Generator) -> None:
    """What comes before a loop is done when it begins, and what comes behind waits for its last run."""
    model = prepare(mamba.build(size=mamba.TINY))
    network, stream = _shuffled(_program(engine, model), any_order(rng))
    for sizes in ((2, 5), (1, 9), (3, 1)):
        inputs = [rng.integers(0, mamba.TINY.vocabulary, sizes)]
        wanted = execute(network_of(engine, model), inputs)
        for _ in range(3):
            assert all(np.allclose(a, b, rtol=0, atol=1e-5) for a, b in zip(_run(network, inputs), wanted, strict=True))
    assert len(stream.asked) > 3
