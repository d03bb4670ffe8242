"""Tensors that lie within others: what is not launched for which shapes, and that nobody can tell the difference."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
from openvino import opset13 as ops
from openvino.utils.node_factory import NodeFactory

from clinfer.base.layout import Layout
from clinfer.network.network import Network
from clinfer.network.plans.plan import Launch
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Memory
from tests.network.running import check, network_of, run_once
from tests.ops.case_runner import POISON, execute
from tests.oracle import CpuPlugin, ov

SHARED = BuildOptions(skipped_passes=frozenset({"fuse_eltwise"}))
COPIED = BuildOptions(skipped_passes=frozenset({"fuse_eltwise", "alias_buffers"}))
"""What applies fused operations does not only move: without them, what moves stands alone."""
pytestmark = pytest.mark.usefixtures("overlapping")
Shape = tuple[int, ...]
Build = Callable[..., ov.Node]


@pytest.fixture(autouse=True)
def poisoned(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All memory that networks make is filled with something that is no result."""
    allocate = Engine.allocate_bytes

    def fill(engine: Engine, nbytes: int, what: str = "buffer", zero: bool = False) -> Memory:
        memory = allocate(engine, nbytes, what, zero)
        if nbytes and not zero:
            stream = engine.create_stream()
            stream.fill(memory, POISON)
            stream.finish()
        return memory
    monkeypatch.setattr(Engine, "allocate_bytes", fill)
    yield


def _floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def _launches(network: Network) -> int:
    return sum(isinstance(step, Launch) for plan in network._ready.current if plan for step in plan.steps)


def _reversed(node: ov.Node) -> ov.Node:
    """Backwards along the first axis."""
    return NodeFactory("opset1").create("Reverse", [node.output(0), ops.constant(_i64(0)).output(0)], {"mode": "index"})


def _model(build: Build, *shapes: Sequence[int], kind: type = np.float32) -> ov.Model:
    """What `build` makes of inputs of these shapes; neither an input nor an output of the model is what it works on."""
    inputs = [ops.parameter(shape, kind) for shape in shapes]
    outputs = build(*map(ops.relu, inputs))
    return ov.Model([ops.relu(node) for node in (outputs if isinstance(outputs, list) else [outputs])], inputs)


class Pair:
    """A model with and without sharing."""

    def __init__(self, engine: Engine, model: ov.Model, rng: np.random.Generator,
                 forced: Mapping[str, tuple[str, ...]] = MappingProxyType({})) -> None:
        self.shared, self.copied = (network_of(engine, model, replace(each, force_implementations=forced))
                                    for each in (SHARED, COPIED))
        self._oracle, self._rng = CpuPlugin(model), rng

    def spared(self, *shapes: Shape) -> int:
        """The launches that sharing spares for these shapes; both results are right, and the same bit for bit."""
        inputs = [_floats(self._rng, *shape) for shape in shapes]
        for one, other in zip(execute(self.shared, inputs), execute(self.copied, inputs), strict=True):
            assert np.array_equal(one, other)
        if all(map(all, shapes)):
            check(self.shared, self._oracle, inputs)
        return _launches(self.copied) - _launches(self.shared)


def _i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


# -- several inputs of one launch --------------------------------------------------------------------


@pytest.mark.parametrize("shapes, launches", [
    (((1, 2, 1024), (1, 3, 1024), (1, 1, 1024)), 0), (((2, 2, 1024), (2, 3, 1024), (2, 1, 1024)), 1),
    (((1, 1, 5), (1, 3, 5), (1, 1, 5)), 1), (((1, 0, 5), (1, 3, 5), (1, 1, 5)), 1),
    (((1, 4, 1024), (1, 3, 5), (1, 2, 5)), 1)])
def test_a_launch_for_what_does_not_lie_in_its_place(engine: Engine, rng: np.random.Generator,
                                                     shapes: Sequence[Shape], launches: int) -> None:
    """One launch copies the inputs that lie elsewhere; those that lie in their place stay."""
    if len({shape[2] for shape in shapes}) > 1:
        shapes = tuple((1, shape[1] * shape[2]) for shape in shapes)
    model = _model(lambda a, b, c: ops.concat([a, b, c], 1, name="joined"), *([-1] * len(shape) for shape in shapes))
    forced = {"joined": ("", "concat_joined")}
    pair = Pair(engine, model, rng, forced)
    assert pair.spared(*shapes) == 1 - launches
    assert _launches(pair.copied) == 1 + sum(all(shape) for shape in shapes) + 1
    pair.spared(*[(shape[0], *[size + 1 for size in shape[1:]]) for shape in shapes])
    assert pair.spared(*shapes) == 1 - launches


@pytest.mark.parametrize("count", [16, 17, 40])
def test_launches_for_many_inputs(engine: Engine, rng: np.random.Generator, count: int) -> None:
    """Each launch is left out whose inputs all lie in their places."""
    parts = [(1, 1024 * int(rng.integers(1, 4))) for _ in range(count - 1)] + [(1, 7)]
    model = _model(lambda *given: ops.concat([*given, given[0]], 1, name="joined"), *([-1, -1] for _ in parts))
    pair = Pair(engine, model, rng, {"joined": ("", "concat_joined")})
    stages = -(-(count + 1) // 16)
    assert pair.spared(*parts) == stages - 1
    assert _launches(pair.copied) == count + 1 + stages


# -- rule by rule: the shapes of the inputs, and what is not launched for them ----------------------

ONE_KI = 1024
"""Enough elements for parts to start wherever a device lets buffers start."""

RULES: dict[str, tuple[Build, Sequence[Shape], Sequence[tuple[Sequence[Shape], int]]]] = {
    "concat along the first axis": (
        lambda a, b: ops.concat([a, b], 0), [(-1, ONE_KI), (-1, ONE_KI)],
        [(((2, ONE_KI), (3, ONE_KI)), 2), (((1, ONE_KI), (1, ONE_KI)), 2)]),
    "concat along an inner axis": (
        lambda a, b: ops.concat([a, b], 1), [(-1, -1, ONE_KI), (-1, 3, ONE_KI)],
        [(((1, 2, ONE_KI), (1, 3, ONE_KI)), 2), (((2, 2, ONE_KI), (2, 3, ONE_KI)), 0),
         (((1, 5, ONE_KI), (1, 3, ONE_KI)), 2)]),
    "concat at a place where no buffer can start": (
        lambda a, b: ops.concat([a, b], 1), [(1, -1), (1, 5)], [(((1, 3), (1, 5)), 1), (((1, ONE_KI), (1, 5)), 2)]),
    "concat of the same tensor twice": (
        lambda a: ops.concat([a, a, a], 0), [(-1, ONE_KI)], [(((2, ONE_KI),), 1)]),
    "concat with an empty part": (
        lambda a, b: ops.concat([a, b], 0), [(-1, ONE_KI), (-1, ONE_KI)],
        [(((0, ONE_KI), (3, ONE_KI)), 1), (((3, ONE_KI), (0, ONE_KI)), 1), (((0, ONE_KI), (0, ONE_KI)), 0)]),
    "split": (
        lambda a: [ops.multiply(p, np.float32(2)) for p in ops.split(a, 1, 2).outputs()], [(-1, 2, -1, 32)],
        [(((1, 2, 32, 32),), 2), (((2, 2, 32, 32),), 0), (((1, 2, 64, 32),), 2)]),
    "split into unequal parts": (
        lambda a: [ops.multiply(p, np.float32(2)) for p in ops.variadic_split(a, 0, _i64(1, -1)).outputs()],
        [(-1, ONE_KI)], [(((4, ONE_KI),), 2), (((2, ONE_KI),), 2)]),
    "slice of the first axis": (
        lambda a: ops.slice(a, _i64(1), _i64(-1), _i64(1)), [(-1, ONE_KI)], [(((9, ONE_KI),), 1), (((3, ONE_KI),), 1)]),
    "slice of an inner axis": (
        lambda a: ops.slice(a, _i64(1), _i64(3), _i64(1), _i64(1)), [(-1, 4, ONE_KI)],
        [(((1, 4, ONE_KI),), 1), (((3, 4, ONE_KI),), 0)]),
    "slice that takes all": (
        lambda a: ops.slice(a, _i64(0), _i64(7), _i64(1), _i64(1)), [(-1, -1, 5)],
        [(((2, 7, 5),), 1), (((2, 9, 5),), 0), (((3, 4, 5),), 1)]),
    "strided slice with a shrunk axis": (
        lambda a: ops.strided_slice(a, _i64(1), _i64(2), _i64(1), [0], [0], [], [1], []), [(-1, ONE_KI)],
        [(((4, ONE_KI),), 1)]),
    "transpose of axes of size one": (
        lambda a: ops.transpose(a, _i64(0, 2, 1, 3)), [(-1, -1, 4, 8)],
        [(((2, 1, 4, 8),), 1), (((2, 3, 4, 8),), 0), (((1, 1, 4, 8),), 1)]),
    "broadcast to the same shape": (
        lambda a, b: ops.broadcast(a, ops.shape_of(b)), [(-1, 8), (-1, 8)],
        [(((3, 8), (3, 8)), 1), (((1, 8), (3, 8)), 0), (((1, 8), (1, 8)), 1)]),
    "tile once": (
        lambda a, b: ops.tile(a, ops.shape_of(b)), [(2, 8), (-1, 1)], [(((2, 8), (1, 1)), 1), (((2, 8), (3, 1)), 0)]),
    "reverse of a size of one": (
        lambda a: _reversed(a), [(-1, 8)], [(((1, 8),), 1), (((2, 8),), 0)]),
    "pad with nothing": (
        lambda a, b: ops.pad(a, _i64(0, 0), ops.concat([_i64(0), ops.subtract(ops.shape_of(b), _i64(1))], 0),
                             "constant", np.float32(3)), [(-1, 8), (-1,)],
        [(((2, 8), (1,)), 1), (((2, 8), (3,)), 0)]),
    "gather of one slice": (
        lambda a: ops.gather(a, np.int64(-2), np.int64(0)), [(-1, ONE_KI)], [(((3, ONE_KI),), 1), (((2, ONE_KI),), 1)]),
    "gather of slices in a row": (
        lambda a: ops.gather(a, _i64(1, 2, 3), np.int64(1)), [(-1, 5, ONE_KI)],
        [(((1, 5, ONE_KI),), 1), (((2, 5, ONE_KI),), 0)]),
    "gather of slices out of order": (
        lambda a: ops.gather(a, _i64(1, 3, 2), np.int64(0)), [(-1, ONE_KI)], [(((5, ONE_KI),), 0)]),
    "a chain": (
        lambda a: ops.transpose(ops.slice(ops.transpose(a, _i64(1, 0, 2)), _i64(0), _i64(9), _i64(1)), _i64(1, 0, 2)),
        [(-1, -1, 8)], [(((1, 9, 8),), 3), (((2, 9, 8),), 1), (((1, 12, 8),), 3)]),
    "concat of concat": (
        lambda a, b, c: ops.concat([ops.concat([a, b], 0), c, ops.concat([c, a], 0)], 0), [(-1, ONE_KI)] * 3,
        [(((1, ONE_KI), (2, ONE_KI), (3, ONE_KI)), 5)]),
}


@pytest.mark.parametrize("name", RULES)
def test_what_is_not_launched(engine: Engine, rng: np.random.Generator, name: str) -> None:
    build, declared, table = RULES[name]
    pair = Pair(engine, _model(build, *declared), rng)
    for turn in range(2):
        for shapes, spared in table:
            assert pair.spared(*shapes) == spared, f"turn {turn}, shapes {shapes}"


def test_what_applies_fused_operations_is_launched(engine: Engine, rng: np.random.Generator) -> None:
    x, factor = ops.parameter((-1, 1, 4, 8), np.float32), ops.parameter((1, 4, 1, 8), np.float32)
    model = ov.Model([ops.multiply(ops.transpose(ops.relu(x), _i64(0, 2, 1, 3)), factor)], [x, factor])
    network = network_of(engine, model)
    for batch in (2, 1):
        check(network, CpuPlugin(model), [_floats(rng, batch, 1, 4, 8), _floats(rng, 1, 4, 1, 8)])
        assert _launches(network) == 2


# -- the edges of the model -------------------------------------------------------------------------


def _pointers(network: Network, array: np.ndarray) -> tuple[Memory, Memory]:
    """One execution on this array; the memory of the input and of the output."""
    engine, (name,) = network.program.engine, network.program.inputs
    memory = engine.allocate_memory(Layout.planar(array.shape, network.program.inputs[name].element_type))
    network.stream.write(memory, array, blocking=True)
    network.set_input(name, memory, array.shape)
    (output,) = network.execute().values()
    return memory, output.memory


def test_an_output_is_no_part_of_an_input(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([-1, -1, 8], np.float32)
    model = ov.Model([ops.transpose(x, _i64(1, 0, 2))], [x])
    network = network_of(engine, model)
    for shape in ((1, 3, 8), (2, 3, 8), (1, 4, 8)):
        array = _floats(rng, *shape)
        given, got = _pointers(network, array)
        assert not got.shares_buffer(given)
        check(network, CpuPlugin(model), [array])


def test_what_an_output_copies_is_made_in_the_callers_memory(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([-1, -1, 8], np.float32)
    pair = Pair(engine, ov.Model([ops.transpose(ops.relu(x), _i64(1, 0, 2))], [x]), rng)
    assert [pair.spared((1, 3, 8)), pair.spared((2, 3, 8)), pair.spared((1, 5, 8))] == [1, 0, 1]


def test_a_part_of_an_input_is_read_where_it_is(engine: Engine, rng: np.random.Generator) -> None:
    """The parts follow the input from memory to memory, and shrink and grow with it."""
    x = ops.parameter([-1, ONE_KI], np.float32)
    model = ov.Model([ops.relu(part) for part in ops.split(x, 0, 2).outputs()], [x])
    pair = Pair(engine, model, rng)
    for rows in (8, 2, 6, 6, 4, 8):
        assert pair.spared((rows, ONE_KI)) == 2


def test_tensors_that_are_outputs_too(engine: Engine, rng: np.random.Generator) -> None:
    """What is delivered stays in its own memory, and so does what lies within it."""
    x = ops.parameter([-1, ONE_KI], np.float32)
    a, b = ops.relu(x), ops.negative(x)
    joined = ops.concat([a, b, ops.exp(x)], 0)
    part = ops.slice(joined, _i64(1), _i64(3), _i64(1))
    pair = Pair(engine, ov.Model([a, joined, ops.relu(part), part], [x]), rng)
    assert [pair.spared((rows, ONE_KI)) for rows in (2, 1, 5)] == [2, 2, 2]


def test_the_record_tells_what_was_left_out(engine: Engine, rng: np.random.Generator) -> None:
    model = _model(lambda a: ops.concat([ops.softmax(a, 1), a], 1), (-1, -1, ONE_KI))
    network = network_of(engine, model)
    for batch, expected in ((1, (0, 2, {"within another"})), (2, (2, 0, {"grown", "reused"}))):
        nodes = run_once(network, [_floats(rng, batch, 2, ONE_KI)]).nodes
        joined, = (node for node in nodes if node.primitive == "Concat")
        softmax, = (node for node in nodes if node.primitive == "Softmax")
        assert (joined.launches, joined.left_out) == expected[:2] and softmax.memory in expected[2]


def test_bodies_read_and_return_what_they_did(engine: Engine, rng: np.random.Generator) -> None:
    """A body may give back its input: that keeps its memory, and within the body copies are left out."""
    def body(is_copied: bool) -> ov.Model:
        y = ops.parameter([-1, ONE_KI], np.float32)
        joined = ops.concat([ops.exp(y), ops.negative(y)], 0)
        return ov.Model([ops.slice(joined, _i64(1), _i64(3), _i64(1)) if is_copied else ops.relu(y)], [y])
    x, choice = ops.parameter([-1, ONE_KI], np.float32), ops.parameter([], np.bool_)
    joined = ops.concat([ops.relu(x), ops.exp(x)], 0)
    branch = ops.if_op(choice)
    bodies = body(True), body(False)
    branch.set_then_body(bodies[0])
    branch.set_else_body(bodies[1])
    branch.set_input(joined.output(0), bodies[0].get_parameters()[0], bodies[1].get_parameters()[0])
    result = branch.set_output(bodies[0].get_results()[0], bodies[1].get_results()[0])
    model = ov.Model([ops.relu(ops.concat([joined, result], 0))], [x, choice])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for rows, flag in ((2, True), (3, False), (2, False), (5, True), (2, True)):
        check(network, oracle, [_floats(rng, rows, ONE_KI), np.array(flag)])


# -- in the midst of other things -------------------------------------------------------------------


def _convolved(x: ov.Node, channels: int, outputs: int, rng: np.random.Generator) -> ov.Node:
    """A convolution with an activation as its fused operation."""
    return ops.relu(ops.convolution(x, _floats(rng, outputs, channels, 1, 1), [1, 1], [0, 0], [0, 0], [1, 1]))


def _branches(x: ov.Node, rng: np.random.Generator) -> list[ov.Node]:
    """Channels in blocks: joined, split, joined again with parts in order and not, read before and after."""
    a = _convolved(x, 32, 32, rng)
    b, c = ops.max_pool(a, [1, 1], [1, 1], [1, 1], [1, 1], [3, 3]).output(0), _convolved(a, 32, 16, rng)
    joined = ops.concat([a, b, c, a], 1)
    first, second, third, last = ops.variadic_split(joined, 1, _i64(32, 32, 16, 32)).outputs()
    again = ops.concat([_convolved(first, 32, 32, rng), first, second, third, last], 1)
    turned = ops.transpose(ops.relu(again), _i64(0, 2, 3, 1))
    return [ops.concat([_convolved(again, 144, 16, rng), third], 1), ops.add(b, last), turned,
            ops.concat([first, second, third, last], 1)]


def test_channels_in_blocks(engine: Engine, rng: np.random.Generator) -> None:
    pair = Pair(engine, _model(lambda x: _branches(x, rng), (-1, 32, -1, -1)), rng)
    shapes = [(1, 32, 4, 8), (1, 32, 1, 5), (2, 32, 4, 4), (1, 32, 1, 1), (1, 32, 3, 7), (2, 32, 1, 1)]
    spared = [pair.spared(shape) for shape in (*shapes, *(shapes[i] for i in rng.permutation(len(shapes))))]
    assert min(spared[0], spared[1]) >= 6 and spared[2] <= 1


def test_fewer_channels_than_blocks_hold(engine: Engine, rng: np.random.Generator) -> None:
    """What follows a part block is copied; lanes that fill up a block are nobody's."""
    def build(x: ov.Node) -> list[ov.Node]:
        a, b = _convolved(x, 32, 32, rng), _convolved(x, 32, 20, rng)
        parts = ops.variadic_split(ops.concat([a, b, a], 1), 1, _i64(32, 20, -1)).outputs()
        return [_convolved(part, channels, 8, rng) for part, channels in zip(parts, (32, 20, 32), strict=True)]
    pair = Pair(engine, _model(build, (-1, 32, -1, -1)), rng)
    for shape in ((1, 32, 4, 8), (2, 32, 4, 4), (1, 32, 5, 3)):
        pair.spared(shape)


def test_what_the_host_reads_in_between(engine: Engine, rng: np.random.Generator) -> None:
    """Tensors that lie within others are read behind the point where data decides."""
    def build(a: ov.Node, b: ov.Node) -> list[ov.Node]:
        joined = ops.concat([ops.exp(a), b], 0)
        part = ops.slice(joined, _i64(1), _i64(3), _i64(1))
        where = ops.non_zero(ops.greater(ops.reduce_max(part, _i64(1), False), np.float32(0)), "i64")
        rows = ops.gather(part, ops.reshape(where, _i64(-1), False), np.int64(0))
        return [ops.concat([rows, ops.exp(b)], 0), ops.concat([rows, part], 0),
                ops.add(ops.slice(rows, _i64(0), _i64(9), _i64(1)), np.float32(1))]
    pair = Pair(engine, _model(build, (-1, ONE_KI), (-1, ONE_KI)), rng)
    for rows in ((2, 3), (1, 4), (5, 1), (2, 3), (2, 3)):
        pair.spared(*((count, ONE_KI) for count in rows))


def test_memory_that_a_later_segment_grows(engine: Engine, rng: np.random.Generator) -> None:
    """The shapes of the first segment stay; how much the second one makes is in the data."""
    x = ops.parameter([-1, ONE_KI], np.float32)
    joined = ops.concat([ops.exp(x), ops.negative(x)], 0)
    best = ops.reduce_max(ops.softmax(joined, 0), _i64(1), False)
    count = ops.reshape(ops.non_zero(ops.greater(best, np.float32(0.5)), "i64"), _i64(-1), False)
    table = ops.constant(_floats(rng, 8, 16 * ONE_KI))
    rows = ops.softmax(ops.softmax(ops.gather(table, count, np.int64(0)), -1), 0)
    model = ov.Model([rows], [x])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for wanted in (1, 2, 4, 1, 3):
        values = np.zeros((4, ONE_KI), np.float32)
        values[:wanted, rng.permutation(ONE_KI)[:wanted]] = 0
        values[np.arange(wanted), rng.permutation(ONE_KI)[:wanted]] = 9
        check(network, oracle, [values])
    assert network._ready.current[0] is not None and network._ready.current[0].aliases


def test_random_sequences_of_shapes(engine: Engine, rng: np.random.Generator) -> None:
    """No-ops come and go, and parts move when sizes do."""
    def build(x: ov.Node, y: ov.Node) -> list[ov.Node]:
        heads = ops.transpose(ops.softmax(x, -1), _i64(0, 2, 1, 3))
        joined = ops.concat([heads, ops.transpose(y, _i64(0, 2, 1, 3))], 2)
        kept = ops.slice(joined, _i64(-4), _i64(2**31), _i64(1), _i64(2))
        return [ops.transpose(ops.softmax(kept, -1), _i64(0, 2, 1, 3)), _reversed(kept), heads]
    pair = Pair(engine, _model(build, (-1, -1, 1, 32), (-1, -1, 1, 32)), rng)
    seen = set()
    for _ in range(25):
        batch, first, second = (int(n) for n in rng.integers((1, 0, 1), (3, 6, 6)))
        seen.add(pair.spared((batch, first, 1, 32), (batch, second, 1, 32)))
    assert len(seen) > 2
