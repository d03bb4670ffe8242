"""Transfers, launches, order and events on in-order, out-of-order and profiling streams."""
from __future__ import annotations

import time
import weakref
from collections.abc import Callable

import numpy as np
import pyopencl as cl
import pytest

from clinfer.base.errors import ClinferError
from clinfer.runtime import driver
from clinfer.runtime.engine import Engine
from clinfer.runtime.kernel import Kernel
from clinfer.runtime.launches import WorkSize
from clinfer.runtime.memory import Allocation, Memory, NativeBuffer
from clinfer.runtime.stream import Stream

SOURCE = """
kernel void scale(global int* data, int factor) { data[get_global_id(0)] *= factor; }
kernel void increment(global int* data) {
    int i = get_global_id(0);
    for (int k = 0; k < 50; ++k) data[i] += 1;
}
kernel void position(global int* out) {
    size_t row = get_global_id(2) * get_global_size(1) + get_global_id(1);
    size_t i = row * get_global_size(0) + get_global_id(0);
    out[i] = get_local_size(0) * 100 + get_local_size(1) * 10 + get_local_size(2);
}
"""


@pytest.fixture(params=["in_order", "out_of_order", "profiling"])
def any_stream(request: pytest.FixtureRequest, engine: Engine) -> Stream:
    capable = engine.capabilities
    if request.param == "out_of_order" and not capable.out_of_order_queue:
        pytest.skip("the device has no out-of-order queues")
    if request.param == "profiling" and not capable.profiling_queue:
        pytest.skip("the device has no profiling queues")
    mode = request.param
    return engine.create_stream(in_order=mode != "out_of_order", profiling=mode == "profiling")


@pytest.fixture(scope="module")
def kernels(engine: Engine) -> dict[str, Kernel]:
    program = engine.build_program(SOURCE)
    assert set(program.kernel_names) == {"scale", "increment", "position"}
    return {name: engine.create_kernel(program, name) for name in program.kernel_names}


def poisoned(engine: Engine, stream: Stream, nbytes: int) -> Memory:
    memory = engine.allocate_bytes(nbytes)
    stream.fill(memory, 0xA5)
    return memory


def test_modes_are_known(any_stream: Stream, request: pytest.FixtureRequest) -> None:
    mode = request.node.callspec.params["any_stream"]
    assert any_stream.in_order == (mode != "out_of_order")
    assert any_stream.profiling == (mode == "profiling")


@pytest.mark.parametrize("blocking", [True, False])
def test_write_copy_read_round_trip(engine: Engine, any_stream: Stream, rng: np.random.Generator,
                                    blocking: bool) -> None:
    data = rng.integers(0, 256, 1000, np.uint8)
    source, target = poisoned(engine, any_stream, 1000), poisoned(engine, any_stream, 1200)
    any_stream.write(source, data, blocking=blocking)
    any_stream.copy(source, target, 500, source_offset=100, target_offset=300)
    got = any_stream.read(target, blocking=blocking)
    any_stream.finish()
    expected = np.full(1200, 0xA5, np.uint8)
    expected[300:800] = data[100:600]
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(("rows", "nbytes"), [(5, 7), (1, 9), (3, 0), (0, 4), (4, 20)])
def test_rows_are_copied_from_pitch_to_pitch(engine: Engine, any_stream: Stream, rng: np.random.Generator, rows: int,
                                             nbytes: int) -> None:
    data = rng.integers(0, 256, (6, 20), np.uint8)
    source, target = poisoned(engine, any_stream, data.size), poisoned(engine, any_stream, 5 * 32)
    any_stream.write(source, data)
    first = 11 if nbytes < 10 else 0
    any_stream.copy_rows(source, target, rows, nbytes, source_pitch=20, target_pitch=32, source_offset=first,
                         target_offset=3)
    expected = np.full((5, 32), 0xA5, np.uint8)
    expected[:rows, 3:3 + nbytes] = data[:rows, first:first + nbytes]
    np.testing.assert_array_equal(any_stream.read(target).reshape(5, 32), expected)
    with pytest.raises(ClinferError, match="beyond its end"):
        any_stream.copy_rows(source, target, 6, 20, source_pitch=20, target_pitch=32)


def test_offsets_and_typed_arrays(engine: Engine, stream: Stream, rng: np.random.Generator) -> None:
    memory = poisoned(engine, stream, 64)
    values = rng.standard_normal((2, 3)).astype(np.float32)
    stream.write(memory, values.T, offset_bytes=16)
    got = stream.read(memory, np.empty((3, 2), np.float32), offset_bytes=16)
    np.testing.assert_array_equal(got, values.T)
    assert (stream.read(memory, 16) == 0xA5).all()
    stream.fill(memory, np.float32(1.5).tobytes(), nbytes=8, offset_bytes=4)
    np.testing.assert_array_equal(stream.read(memory, 12).view(np.uint32), [
        0xA5A5A5A5, *np.array([1.5, 1.5], np.float32).view(np.uint32)])


def test_a_written_array_may_be_dropped(engine: Engine, stream: Stream) -> None:
    memory = engine.allocate_bytes(1 << 20)
    for value in range(50):
        stream.write(memory, np.full(1 << 20, value, np.uint8))
    assert (stream.read(memory) == 49).all()


@pytest.mark.parametrize("count", [7, 1 << 18])
def test_results_are_read_at_the_finish(engine: Engine, any_stream: Stream, kernels: dict[str, Kernel],
                                        rng: np.random.Generator, count: int) -> None:
    """Writes between launches keep their order, and what is read stays as it is when others are launched later."""
    inputs = rng.integers(-9, 9, (3, count), np.int32)
    memory, kept = engine.allocate_bytes(inputs[0].nbytes), engine.allocate_bytes(inputs[0].nbytes)
    kernels["increment"].set_buffer(0, memory)
    for _ in range(2):
        found = [np.empty(count, np.int32) for _ in range(2)]
        any_stream.write(memory, inputs[0])
        any_stream.enqueue(kernels["increment"], (count,))
        any_stream.copy(memory, kept)
        any_stream.write(memory, inputs[1])
        any_stream.enqueue(kernels["increment"], (count,))
        any_stream.read_at_finish(kept, found[0])
        any_stream.read_at_finish(memory, found[1])
        any_stream.finish()
        any_stream.write(memory, inputs[2])
        any_stream.enqueue(kernels["increment"], (count,))
        any_stream.finish()
        np.testing.assert_array_equal(found, inputs[:2] + 50)


class _Kept:
    """What can be referred to weakly."""


def test_what_is_kept_outlives_transfers(engine: Engine, any_stream: Stream) -> None:
    """Until the finish, although the first write of a buffer asks where it lies."""
    kept = _Kept()
    found = weakref.ref(kept)
    any_stream.keep(kept)
    del kept
    any_stream.write(engine.allocate_bytes(16), np.zeros(16, np.uint8))
    assert found() is not None
    any_stream.read(engine.allocate_bytes(16))
    assert found() is not None
    any_stream.finish()
    assert found() is None


def test_buffers_that_the_host_may_not_read_are_written(engine: Engine, stream: Stream) -> None:
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.HOST_WRITE_ONLY
    users = Memory(engine, Allocation(NativeBuffer(cl.Buffer(engine.cl_context, flags, 16)), 16))
    own, data = engine.allocate_bytes(16), np.arange(16, dtype=np.uint8)
    stream.write(users, data)
    stream.copy(users, own)
    np.testing.assert_array_equal(stream.read(own), data)
    assert own.is_own and own.part(0, 16).is_own and not users.is_own


def test_nothing_is_read_at_a_finish_that_failed(engine: Engine, stream: Stream,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    if not engine.capabilities.buffers_in_place:
        pytest.skip("the device itself writes to the array")
    memory, found = poisoned(engine, stream, 16), np.zeros(16, np.uint8)
    stream.finish()
    stream.read_at_finish(memory, found)
    with monkeypatch.context() as patch:
        patch.setattr(stream, "_finish", lambda: driver.check(-36))
        with pytest.raises(ClinferError):
            stream.finish()
    stream.finish()
    assert not found.any()


@pytest.mark.parametrize("access", [
    lambda s, m: s.write(m, np.zeros(65, np.uint8)),
    lambda s, m: s.write(m, np.zeros(4, np.uint8), offset_bytes=61),
    lambda s, m: s.read(m, 65),
    lambda s, m: s.read(m, 1, offset_bytes=-1),
    lambda s, m: s.copy(m, m, 40, 0, 32),
    lambda s, m: s.fill(m, 0, 65)])
def test_access_beyond_the_end_is_refused(engine: Engine, stream: Stream,
                                          access: Callable[[Stream, Memory], None]) -> None:
    with pytest.raises(ClinferError, match="beyond its end"):
        access(stream, engine.allocate_bytes(64))


def test_launches_keep_their_order(engine: Engine, any_stream: Stream, kernels: dict[str, Kernel],
                                   rng: np.random.Generator) -> None:
    count = 1 << 14
    data = rng.integers(-9, 9, count, np.int32)
    memory = engine.allocate_bytes(data.nbytes)
    any_stream.write(memory, data)
    kernels["scale"].set_buffer(0, memory)
    kernels["increment"].set_buffer(0, memory)
    work = WorkSize((count,), (64,))
    expected = data.copy()
    for factor in (3, -1, 2, 5, 7, -2):
        kernels["scale"].set_bytes(1, np.int32(factor).tobytes())
        any_stream.enqueue(kernels["scale"], work)
        any_stream.enqueue(kernels["increment"], (count,))
        expected = expected * factor + 50
    np.testing.assert_array_equal(any_stream.read(memory, np.empty_like(data)), expected)


@pytest.mark.parametrize(("size", "local"), [
    ((6,), (2,)), ((6, 4), (3, 2)), ((4, 2, 6), (2, 1, 3)), ((5, 3), None)])
def test_work_sizes(engine: Engine, stream: Stream, kernels: dict[str, Kernel], size: tuple[int, ...],
                    local: tuple[int, ...] | None) -> None:
    count = int(np.prod(size))
    memory = poisoned(engine, stream, count * 4)
    kernels["position"].set_buffer(0, memory)
    stream.enqueue(kernels["position"], size, local)
    got = stream.read(memory).view(np.int32)
    assert 0xA5A5A5A5 - (1 << 32) not in got
    if local:
        x, y, z = (*local, 1, 1)[:3]
        assert set(got) == {x * 100 + y * 10 + z}


@pytest.mark.parametrize(("size", "local"), [
    ((), None), ((1,) * 4, None), ((8,), (3,)), ((8, 8), (8,)), ((-1,), None), ((8,), (0,))])
def test_bad_work_sizes_are_refused(size: tuple[int, ...], local: tuple[int, ...] | None) -> None:
    with pytest.raises(ClinferError, match="dimensions"):
        WorkSize(size, local)


def test_an_empty_launch_does_nothing(engine: Engine, any_stream: Stream, kernels: dict[str, Kernel]) -> None:
    memory = poisoned(engine, any_stream, 64)
    kernels["position"].set_buffer(0, memory)
    any_stream.enqueue(kernels["position"], (0, 4))
    any_stream.enqueue_with_event(kernels["position"], WorkSize((4, 0), (2, 2))).wait()
    assert (any_stream.read(memory) == 0xA5).all()


def test_a_refused_launch_names_it(engine: Engine, stream: Stream, kernels: dict[str, Kernel]) -> None:
    kernels["position"].set_buffer(0, engine.allocate_bytes(64))
    size = engine.capabilities.max_work_group_size * 4
    with pytest.raises(ClinferError, match="launch kernel position: INVALID_WORK") as caught:
        stream.enqueue(kernels["position"], (size,), (size,))
    assert str(size) in str(caught.value)


def test_events_and_markers(engine: Engine, any_stream: Stream, kernels: dict[str, Kernel]) -> None:
    memory = engine.allocate_bytes(1 << 16, zero=True)
    kernels["increment"].set_buffer(0, memory)
    event = any_stream.enqueue_with_event(kernels["increment"], (1 << 14,))
    marker = any_stream.marker([event])
    any_stream.flush()
    marker.wait()
    assert event.is_complete and marker.is_complete
    other = engine.create_stream()
    other.barrier([event])
    assert (other.read(memory).view(np.int32) == 50).all()
    any_stream.wait_for([event, any_stream.marker()])
    any_stream.wait_for([])
    if any_stream.profiling:
        assert 0 < event.duration_ns < 10_000_000_000


def test_time_needs_profiling(stream: Stream, engine: Engine, kernels: dict[str, Kernel]) -> None:
    kernels["increment"].set_buffer(0, engine.allocate_bytes(64, zero=True))
    event = stream.enqueue_with_event(kernels["increment"], (16,))
    event.wait()
    try:
        assert event.duration_ns >= 0  # some drivers always take times
    except ClinferError as error:
        assert "PROFILING_INFO_NOT_AVAILABLE" in str(error) and "profiling=True" in error.hint


def test_launch_cost(engine: Engine, stream: Stream, kernels: dict[str, Kernel]) -> None:
    """Shows the host's share of a launch; asserts only that all launches happened."""
    memory = engine.allocate_bytes(64, zero=True)
    kernel = kernels["increment"]
    kernel.set_buffer(0, memory)
    work = WorkSize((16,), (16,))
    costs = []
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(100):
            stream.enqueue(kernel, work)
        costs.append((time.perf_counter() - start) * 1e4)
        stream.finish()
    print(f"{engine.device}: {sorted(costs)[10]:.2f} us per launch, at best {min(costs):.2f}")
    assert (stream.read(memory).view(np.int32) == 20 * 100 * 50).all()
