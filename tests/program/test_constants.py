"""Constants lie where they are read and nowhere else, are moved once, and are shared by all networks."""
from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.kernels.refused_kernels import KernelBuildError
from clinfer.network import compile
from clinfer.network.network import Network
from clinfer.program.program import Program
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Memory
from clinfer.runtime.stream import Stream
from clinfer.topology import Constant
from tests.network.running import check, network_of
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, ov


@pytest.fixture
def own(engine: Engine) -> Engine:
    """An engine of this test alone, whose ledger counts this test's constants."""
    return Engine(engine.device, engine.capabilities)


@pytest.fixture
def uploads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of every write to a device from here on."""
    found: list[int] = []
    write = Stream.write

    def noting(stream: Stream, memory: Memory, array: np.ndarray, blocking: bool = False,
               offset_bytes: int = 0) -> None:
        found.append(array.nbytes)
        write(stream, memory, array, blocking, offset_bytes)
    monkeypatch.setattr(Stream, "write", noting)
    return found


def tied_model(rng: np.random.Generator) -> ov.Model:
    """One table that is read as it is, turned (folded), and packed for a kernel."""
    table = ops.constant(rng.standard_normal((300, 64)).astype(np.float32))
    ids = ops.parameter([-1], np.int64)
    rows = ops.gather(table, ids, ops.constant(0))
    turned = ops.multiply(ops.transpose(table, ops.constant([1, 0])), np.float32(0.5))
    return ov.Model([ops.matmul(ops.matmul(rows, turned, False, False), table, False, False)], [ids])


def device_bytes(program: Program) -> int:
    return sum(max(memory.capacity, 1) for memory in program.constant_memory.values()) + sum(
        device_bytes(body) for node in program.nodes for body in node.bodies)


def test_a_table_with_many_readers_is_moved_once(own: Engine, uploads: list[int], rng: np.random.Generator) -> None:
    model = tied_model(rng)
    network = network_of(own, model)
    assert uploads.count(300 * 64 * 4) == 1
    assert own.ledger.current == device_bytes(network.program)
    check(network, CpuPlugin(model), [rng.integers(0, 300, 7)])


def test_values_are_kept_where_they_are_read(own: Engine, rng: np.random.Generator) -> None:
    """Axes, repeats and shapes stay on the host; weights are on the device alone."""
    x = ops.parameter([-1, 8], np.float32)
    weights = ops.constant(rng.standard_normal((8, 32)).astype(np.float32))
    y = ops.reduce_sum(ops.matmul(x, weights, False, False), ops.constant([0], np.int64), True)
    z = ops.tile(y, ops.concat([ops.constant([2], np.int64), ops.constant([3], np.int64)], 0))
    model = ov.Model([z], [x])
    network = network_of(own, model)
    program = network.program
    for tensor, data in program.constants.items():
        assert (data.memory is not None) == (tensor in program.constant_memory)
        assert data.array is None or data.array.size <= 2
        assert data.array is not None or data.memory is not None
    assert any(data.memory is None for data in program.constants.values())
    assert own.ledger.current == device_bytes(program) < 8 * 32 * 4 + 200
    check(network, CpuPlugin(model), [rng.standard_normal((5, 8)).astype(np.float32)])
    large = [data for data in program.constants.values() if data.layout.byte_size > 100]
    assert large and all(data.array is None for data in large)


def test_networks_share_constants(own: Engine, uploads: list[int], rng: np.random.Generator) -> None:
    model = tied_model(rng)
    first = network_of(own, model)
    execute(first, [np.zeros(4, np.int64)])
    held, moved = own.ledger.current, len(uploads)
    second = Network(first.program, own.create_stream(), OpenVinoShapeInference())
    assert (own.ledger.current, len(uploads)) == (held, moved)
    check(second, CpuPlugin(model), [rng.integers(0, 300, 9)])
    del first, second
    assert own.ledger.current == 0


def _loop(rng: np.random.Generator) -> ov.Model:
    xi = ops.parameter([1, 32], np.float32)
    weights = ops.constant(rng.standard_normal((32, 32)).astype(np.float32) / 8)
    step = ops.matmul(xi, weights, False, True)
    body = ov.Model([step, ops.constant(True)], [xi], "body")
    x = ops.parameter([1, 32], np.float32)
    loop = ops.loop(ops.constant(3), ops.constant(True))
    loop.set_function(body)
    loop.set_special_body_ports([-1, 1])
    loop.set_merged_input(xi, x.output(0), step.output(0))
    return ov.Model([loop.get_iter_value(step.output(0), -1)], [x])


def _choice(rng: np.random.Generator) -> ov.Model:
    condition, x = ops.parameter([], bool), ops.parameter([1, 32], np.float32)
    choice = ops.if_op(condition)
    results = []
    for place in range(2):
        xi = ops.parameter([1, 32], np.float32)
        weights = ops.constant(rng.standard_normal((32, 32)).astype(np.float32))
        result = ops.result(ops.matmul(xi, weights, False, False))
        body = ov.Model([result], [xi])
        (choice.set_then_body, choice.set_else_body)[place](body)
        results.append((xi, result))
    choice.set_input(x.output(0), results[0][0], results[1][0])
    out = choice.set_output(results[0][1], results[1][1])
    return ov.Model([out], [condition, x])


@pytest.mark.parametrize("make", [_loop, _choice])
def test_bodies_leave_no_copy_on_the_host(own: Engine, rng: np.random.Generator, uploads: list[int],
                                          make: Callable[[np.random.Generator], ov.Model]) -> None:
    model = make(rng)
    network = network_of(own, model)
    held = [primitive for node in network.program.nodes for body in node.primitive.bodies
            for primitive in body.topology]
    assert not [p for p in held if isinstance(p, Constant)]
    assert uploads.count(32 * 32 * 4) == (1 if make is _loop else 2)
    assert own.ledger.current == device_bytes(network.program)
    x = rng.standard_normal((1, 32)).astype(np.float32)
    for inputs in ([[x]] if make is _loop else [[np.array(True), x], [np.array(False), x]]):
        check(network, CpuPlugin(model), inputs)


def _deep_model(rng: np.random.Generator, size: int, layers: int = 8) -> ov.Model:
    x = ops.parameter([-1, size], np.float32)
    y = x.output(0)
    for _ in range(layers):
        y = ops.matmul(y, ops.constant(rng.standard_normal((size, size)).astype(np.float32)), False, True).output(0)
    return ov.Model([y], [x])


def _is_packed(program: Program) -> bool:
    return any(removal.type == "Reorder" and removal.fate == "folded" for removal in program.removed)


def test_many_weights_are_packed_in_groups(own: Engine, rng: np.random.Generator,
                                           monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than a group of them is there twice, where the device does not read them in the host's memory."""
    model, one = _deep_model(rng, 80), 80 * 80 * 4
    apart = replace(own.capabilities, buffers_in_place=False)
    network = network_of(whole := Engine(own.device, apart), model)
    if not _is_packed(network.program):
        pytest.skip("the device reads weights as they are")
    assert whole.ledger.peak > device_bytes(network.program) + 6 * one
    monkeypatch.setattr(sys.modules["clinfer.program.passes.pack_constants"], "GROUP_BYTES", 2 * one - 1)
    network = network_of(fresh := Engine(own.device, apart), model)
    assert fresh.ledger.peak <= device_bytes(network.program) + 3 * one
    check(network, CpuPlugin(model), [rng.standard_normal((5, 80)).astype(np.float32)])


def test_what_is_folded_or_packed_is_read_in_place(own: Engine, uploads: list[int], rng: np.random.Generator) -> None:
    """Weights are not moved first to a device that works in the host's memory, and stay as they are."""
    if not own.capabilities.buffers_in_place:
        pytest.skip("the device does not work in the host's memory")
    weights = rng.standard_normal((512, 96)).astype(np.float32)
    before = weights.copy()
    x = ops.parameter([-1, 96], np.float32)
    scaled = ops.multiply(ops.transpose(ops.constant(weights, shared_memory=True), ops.constant([1, 0])), np.float32(3))
    model = ov.Model([ops.matmul(x, scaled, False, False)], [x])
    network = network_of(own, model)
    assert max(uploads, default=0) < weights.nbytes
    check(network, CpuPlugin(model), [rng.standard_normal((5, 96)).astype(np.float32)])
    assert np.array_equal(weights, before)


def test_small_constants_are_packed_by_the_host(own: Engine, rng: np.random.Generator) -> None:
    """No kernel puts a bias into the format of its convolution."""
    x = ops.parameter([1, 16, 9, 9], np.float32)
    filters = ops.constant(rng.standard_normal((48, 16, 3, 3)).astype(np.float32))
    convolved = ops.convolution(x, filters, [1, 1], [0, 0], [0, 0], [1, 1])
    model = ov.Model([ops.add(convolved, ops.constant(rng.standard_normal((1, 48, 1, 1)).astype(np.float32)))], [x])
    network = network_of(own, model)
    reorders = [removal.primitive for removal in network.program.removed if removal.type == "Reorder"]
    assert len(reorders) <= 1
    check(network, CpuPlugin(model), [rng.standard_normal((1, 16, 9, 9)).astype(np.float32)])


def test_what_the_driver_does_not_build_is_packed_otherwise(own: Engine, rng: np.random.Generator,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    model = _deep_model(rng, 80, layers=2)
    refusing, real, calls = sys.modules["clinfer.program.passes.pack_constants"], compile.execute_constants, []
    monkeypatch.setattr(refusing, "_Packing", _refuse)
    monkeypatch.setattr(compile, "execute_constants", lambda *given: (calls.append(1), real(*given))[1])
    network = network_of(own, model)
    assert bool(calls) == _is_packed(network.program)
    check(network, CpuPlugin(model), [rng.standard_normal((5, 80)).astype(np.float32)])


def _refuse(*_: object) -> None:
    raise KernelBuildError("kernels cannot be built", where="a test")
