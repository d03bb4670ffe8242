"""Executions that are enqueued again as they were: when they are, and that nobody can tell them by results."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.base.errors import CancelledError, ClinferError
from clinfer.base.layout import Layout
from clinfer.kernels.specialiser import Specialiser
from clinfer.network.memory.buffers import GrowingBuffer
from clinfer.network.network import Network
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Memory
from tests.network.running import network_of
from tests.network.specialising import network_of as specialised_network
from tests.network.specialising import products, program_of, seen
from tests.oracle import CpuPlugin, assert_close, ov

WIDTH = 24
SETTLED = 20
"""Executions after which memory is as close as it will be, and a shape that came again is repeated."""


class Watched:
    """A network of tanh and twice the sums of its rows, and how often it was executed anew."""

    def __init__(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        x = ops.parameter([-1, WIDTH], np.float32, name="x")
        first = ops.tanh(x)
        second = ops.multiply(ops.reduce_sum(first, np.array([1]), True), np.float32(2))
        self.network = network_of(engine, ov.Model([first, second], [x], "twice"))
        self.engine, self.stream = engine, self.network.stream
        self.planned = 0
        self.memories: dict[int, Memory] = {}
        self.places: dict[str, Memory | GrowingBuffer] = {}
        self.given: list[Memory] = []
        plain = Network._execute

        def count(network: Network, *given: object) -> object:
            self.planned += network is self.network
            return plain(network, *given)  # type: ignore[arg-type]
        monkeypatch.setattr(Network, "_execute", count)

    def give(self, data: np.ndarray, key: int = 0) -> None:
        """Write data to a memory of that number for its rows, and make it the input."""
        place = key * 1000 + len(data)
        layout = Layout.planar(data.shape, self.network.program.inputs["x"].element_type)
        if place not in self.memories:
            self.memories[place] = self.engine.allocate_memory(layout)
        self.stream.write(self.memories[place], data)
        self.network.set_input("x", self.memories[place], data.shape)

    def let_lie(self, places: dict[str, Memory | GrowingBuffer], only: bool) -> None:
        """Let outputs lie there; `only`: and all others in the network's own memory."""
        self.given += [place for place in places.values() if isinstance(place, Memory)]
        if only:
            self.places = places
            self.network.set_outputs(places)
            return
        for name, place in places.items():
            self.places[name] = place
            assert isinstance(place, Memory)
            self.network.set_output(name, place)

    def run(self, data: np.ndarray, proceed: Callable[[], None] | None = None) -> None:
        """Execute, compare with NumPy, and poison the results for the next time."""
        outputs = self.network.execute(proceed=proceed)
        for name, output in outputs.items():
            place = self.places.get(name)
            place = place.fit(output.layout.byte_size) if isinstance(place, GrowingBuffer) else place
            assert place is output.memory if place is not None else output.memory not in self.given
        first, second = outputs.values()
        wanted = np.tanh(data.astype(np.float64))
        assert_close(first.to_numpy(), wanted.astype(np.float32), 1e-5, "first")
        assert_close(second.to_numpy(), 2 * wanted.sum(1, keepdims=True).astype(np.float32), 1e-5, "second")
        for output in (first, second):
            self.stream.fill(output.memory, 0xA5)

    def settle(self, data: np.ndarray) -> None:
        """Execute until the same again is repeated."""
        for _ in range(SETTLED):
            self.run(data)
        before = self.planned
        self.run(data)
        assert self.planned == before, "nothing was new, and the execution was not repeated"


@pytest.fixture
def watched(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(engine, monkeypatch)


def _data(rng: np.random.Generator, rows: int = 3) -> np.ndarray:
    return rng.standard_normal((rows, WIDTH)).astype(np.float32)


def test_data_may_change(watched: Watched, rng: np.random.Generator) -> None:
    watched.network.prepare()
    watched.give(data := _data(rng))
    watched.settle(data)
    assert not watched.network._pool.is_loose
    before, reused = watched.planned, watched.network.plan_counts.reused
    for _ in range(5):
        watched.give(data := _data(rng))
        watched.run(data)
    assert watched.planned == before
    assert watched.network.plan_counts.reused == reused + 5


def test_memories_may_take_turns(watched: Watched, engine: Engine, rng: np.random.Generator) -> None:
    first, second = watched.network.program.outputs
    places = [[engine.allocate_bytes(4 * 3 * width, "a result") for width in (WIDTH, 1)] for _ in range(2)]
    watched.give(data := _data(rng))
    watched.let_lie({first: places[0][0]}, only=True)
    watched.settle(data)
    before = watched.planned
    for turn in range(6):
        watched.give(data := _data(rng), key=turn % 3)
        watched.let_lie({first: places[turn % 2][0]}, only=True)
        watched.run(data)
    assert watched.planned == before
    # Another output, a smaller memory, or one that grows is more than to bind what there is.
    watched.let_lie({first: places[0][0], second: places[0][1]}, only=True)
    watched.run(data)
    watched.let_lie({first: GrowingBuffer(engine, "a result"), second: places[1][1]}, only=True)
    watched.run(data)
    assert watched.planned == before + 2
    watched.settle(data)
    before = watched.planned
    watched.let_lie({first: places[0][0], second: engine.allocate_bytes(4, "too few")}, only=True)
    with pytest.raises(ClinferError, match="too small"):
        watched.run(data)
    watched.let_lie({first: places[0][0], second: places[1][1]}, only=True)
    watched.settle(data)


def test_nothing_may_be_there(watched: Watched, rng: np.random.Generator) -> None:
    watched.give(data := _data(rng, rows=0))
    watched.settle(data)


def test_whatever_changes_is_seen(watched: Watched, rng: np.random.Generator) -> None:
    """In a random order: shapes, memories of inputs and outputs, released memory."""
    outputs = tuple(watched.network.program.outputs)
    events = ["same", "shape", "input", "output", "growing", "own", "release", "cancel"] * 3
    rows, place = 3, 0
    watched.give(data := _data(rng, rows))
    watched.settle(data)
    for event in rng.permutation(events):
        if event == "shape":
            rows = int(rng.integers(0, 7))
        elif event == "input":
            place = int(rng.integers(3))
        elif event == "output":
            watched.let_lie({outputs[rng.integers(2)]: watched.engine.allocate_bytes(4 * 7 * WIDTH)}, only=False)
        elif event == "growing":
            watched.let_lie({outputs[0]: GrowingBuffer(watched.engine, "an output")}, only=True)
        elif event == "own":
            watched.let_lie({}, only=True)
        elif event == "release":
            watched.stream.finish()
            watched.network.release_memory()
            with pytest.raises(ClinferError, match="not every input"):
                watched.network.execute()
        watched.give(data := _data(rng, rows), place)
        if event == "cancel":
            with pytest.raises(CancelledError):
                watched.run(data, _cancel)
        for _ in range(3):
            watched.run(data)
        assert not watched.network.page.notes, "what was repeated has nothing to tell"
    watched.settle(data)


def _cancel() -> None:
    raise CancelledError("cancelled", where="test")


def test_a_memory_that_is_gone_is_an_error(watched: Watched, rng: np.random.Generator) -> None:
    name = next(iter(watched.network.program.outputs))
    given = watched.engine.allocate_bytes(4 * 3 * WIDTH)
    watched.let_lie({name: given}, only=True)
    watched.give(data := _data(rng))
    watched.settle(data)
    watched.stream.finish()
    given.release()
    with pytest.raises(ClinferError, match="released"):
        watched.network.execute()
    watched.let_lie({}, only=True)
    watched.settle(data)


def test_an_input_handed_on_is_copied_each_time(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([-1], np.float32, name="x")
    network = network_of(engine, ov.Model([x, ops.abs(x)], [x], "handed on"))
    stream, (name, _) = network.stream, network.program.outputs
    memory = engine.allocate_memory(Layout.planar((5,), network.program.inputs["x"].element_type))
    target = engine.allocate_bytes(20)
    network.set_output(name, target)
    for _ in range(SETTLED):
        data = rng.standard_normal(5).astype(np.float32)
        stream.write(memory, data)
        stream.fill(target, 0xA5)
        network.set_input("x", memory, (5,))
        handed, absolute = (output.to_numpy() for output in network.execute().values())
        assert np.array_equal(handed, data)
        assert np.array_equal(absolute, np.abs(data))


def test_specialised_kernels_are_taken_over(engine: Engine, rng: np.random.Generator, background: Specialiser) -> None:
    """Though all that comes is the same shape in the same memory."""
    model = products(rng)
    network, oracle = specialised_network(program_of(engine, model)), CpuPlugin(model)
    name, declared = next(iter(network.program.inputs.items()))
    memory = engine.allocate_memory(Layout.planar((2, 9, 32), declared.element_type))
    for number in range(150):
        data = rng.standard_normal((2, 9, 32)).astype(np.float32)
        network.stream.write(memory, data)
        network.set_input(name, memory, data.shape)
        output, = network.execute().values()
        assert_close(output.to_numpy(), oracle([data])[0], 1e-4, f"execution {number}")
        if number == 10:
            assert background.wait(120)
    plan, = seen(network)
    assert plan.countdown == 0
    assert plan.used
