"""Every allocation type, alone and in every combination: transfers, kernels, views, parts, lifetime."""
from __future__ import annotations

import gc
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from clinfer.base.errors import ClinferError
from clinfer.runtime.capabilities import probe_capabilities
from clinfer.runtime.device import available_devices, find_device
from clinfer.runtime.engine import Engine
from clinfer.runtime.launches import WorkSize
from clinfer.runtime.memory import Memory
from clinfer.runtime.memory_types import ALLOCATION_TYPES, AllocationType, native_types
from clinfer.runtime.program import Program
from clinfer.runtime.stream import Stream

PAIRS = list(product(ALLOCATION_TYPES, repeat=2))
SOURCE = """
kernel void add(global const int* a, global int* b) {
    b[get_global_id(0)] += a[get_global_id(0)];
}
kernel void count_up(global int* x) {
    for (int i = 0; i < 3000; ++i) { x[get_global_id(0)] = x[get_global_id(0)] * 3 + 1; }
}
"""


@cache
def _binary(device: str) -> bytes:
    return Engine(find_device(device)).build_program(SOURCE).binary


def program_of(engine: Engine) -> Program:
    """The kernels of these tests, which are built once for a device."""
    return engine.load_binary(_binary(engine.device.name))


def _variants() -> list[tuple[str, str]]:
    """Every device with all that it has, and as if it lacked USM, SVM, and memory in common with the host."""
    found = []
    for device in available_devices():
        able = probe_capabilities(device)
        variants = {"as it is": True, "without USM": able.usm and able.svm, "buffers alone": able.usm or able.svm}
        found += [(device.name, name) for name, is_another in variants.items() if is_another]
    return found


@pytest.fixture(scope="module", params=_variants(), ids=" ".join)
def engine(request: pytest.FixtureRequest) -> Engine:
    name, variant = request.param
    device = find_device(name)
    able = probe_capabilities(device)
    if variant != "as it is":
        able = replace(able, usm_types=())
    if variant == "buffers alone":
        able = replace(able, svm=False, unified_memory=False)
    return Engine(device, able)


@pytest.fixture
def own(engine: Engine) -> Engine:
    """An engine of this test alone."""
    return Engine(engine.device, engine.capabilities)


@pytest.fixture(params=["in_order", "out_of_order"])
def any_stream(request: pytest.FixtureRequest, engine: Engine) -> Stream:
    if request.param == "out_of_order" and not engine.capabilities.out_of_order_queue:
        pytest.skip("the device has no out-of-order queues")
    return engine.create_stream(in_order=request.param == "in_order")


def poisoned(engine: Engine, stream: Stream, nbytes: int, kind: AllocationType) -> Memory:
    memory = engine.allocate_bytes(nbytes, allocation_type=kind)
    stream.fill(memory, 0xA5)
    return memory


def test_every_device_tells_what_stands_behind_each_type(engine: Engine) -> None:
    assert tuple(engine.native_types) == ALLOCATION_TYPES
    for kind, native in engine.native_types.items():
        memory = engine.allocate_bytes(8, allocation_type=kind)
        assert (memory.allocation_type, memory.native_type) == (kind, native)
    able = engine.capabilities
    if {"usm_host", "usm_shared", "usm_device"} <= set(able.usm_types):
        assert all(kind == native for kind, native in engine.native_types.items())
    assert able.usm == bool(able.usm_types)


@pytest.mark.parametrize(("usm", "svm", "is_unified", "expected"), [
    ((), False, False, "cl_mem host_cl_mem cl_mem cl_mem"),
    ((), False, True, "cl_mem host_cl_mem host_cl_mem cl_mem"),
    ((), True, False, "cl_mem svm svm cl_mem"),
    (("usm_host",), True, False, "cl_mem usm_host usm_host cl_mem"),
    (("usm_shared",), False, True, "cl_mem usm_shared usm_shared cl_mem"),
    (("usm_host", "usm_device"), False, False, "cl_mem usm_host usm_host usm_device"),
    (("usm_host", "usm_shared", "usm_device"), True, True, "cl_mem usm_host usm_shared usm_device"),
])
def test_nearest_equivalents(usm: tuple[str, ...], svm: bool, is_unified: bool, expected: str) -> None:
    assert " ".join(native_types(usm, svm, is_unified).values()) == expected


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_write_copy_read(engine: Engine, any_stream: Stream, rng: np.random.Generator, one: AllocationType,
                         other: AllocationType, blocking: bool) -> None:
    data = rng.integers(0, 256, 1000, np.uint8)
    source, target = poisoned(engine, any_stream, 1100, one), poisoned(engine, any_stream, 1200, other)
    any_stream.write(source, data, blocking=blocking, offset_bytes=40)
    any_stream.copy(source, target, 500, source_offset=140, target_offset=300)
    any_stream.fill(target, b"\1\2\3\4", nbytes=8, offset_bytes=1192)
    got = any_stream.read(target, blocking=blocking)
    any_stream.finish()
    expected = np.full(1200, 0xA5, np.uint8)
    expected[300:800], expected[1192:] = data[100:600], [1, 2, 3, 4] * 2
    np.testing.assert_array_equal(got, expected)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("rows", [5, 1, 0])
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_rows(engine: Engine, any_stream: Stream, rng: np.random.Generator, one: AllocationType,
              other: AllocationType, rows: int) -> None:
    data = rng.integers(0, 256, (6, 20), np.uint8)
    source, target = poisoned(engine, any_stream, data.size, one), poisoned(engine, any_stream, 5 * 32, other)
    any_stream.write(source, data)
    any_stream.copy_rows(source, target, rows, 7, source_pitch=20, target_pitch=32, source_offset=11, target_offset=3)
    expected = np.full((5, 32), 0xA5, np.uint8)
    expected[:rows, 3:10] = data[:rows, 11:18]
    np.testing.assert_array_equal(any_stream.read(target).reshape(5, 32), expected)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_parts(own: Engine, rng: np.random.Generator, one: AllocationType, other: AllocationType) -> None:
    """A part of a part is where it says it is, for transfers, rows, kernels and views."""
    stream, unit = own.create_stream(), own.capabilities.buffer_alignment
    kernel = own.create_kernel(program_of(own), "add")
    data = rng.integers(-9, 9, (2, 4 * unit // 4), np.int32)
    wholes = [own.allocate_bytes(row.nbytes, allocation_type=kind)
              for row, kind in zip(data, (one, other), strict=True)]
    for whole, row in zip(wholes, data, strict=True):
        stream.write(whole, row)
    left, right = (whole.part(unit).part(unit, unit) for whole in wholes)
    assert left.origin == (wholes[0].origin[0], 2 * unit) and left.capacity == unit == left.nbytes
    assert (left.allocation_type, left.native_type) == (one, wholes[0].native_type)
    expected = data[1].copy()
    middle = slice(2 * unit // 4, 3 * unit // 4)
    expected[middle] += data[0, middle]
    kernel.set_buffer(0, left)
    kernel.set_buffer(1, right)
    stream.enqueue(kernel, WorkSize((unit // 4,), (1,)))
    stream.copy_rows(left, right, 2, 4, source_pitch=8, target_pitch=12, source_offset=4, target_offset=8)
    expected[middle][[2, 5]] = data[0, middle][[1, 3]]
    np.testing.assert_array_equal(stream.read(wholes[1], np.empty_like(expected)), expected)
    with stream.mapped(right) as seen:
        np.testing.assert_array_equal(seen.view(np.int32), expected[middle])
        seen[:4] = 0
    expected[middle][0] = 0
    del wholes
    gc.collect()
    np.testing.assert_array_equal(stream.read(right, np.empty(unit // 4, np.int32)), expected[middle])
    assert own.ledger.current == 8 * unit
    with pytest.raises(ClinferError, match="within it"):
        right.part(0, unit + 1)


@pytest.mark.parametrize("kind", ALLOCATION_TYPES)
def test_parts_go_with_the_whole(own: Engine, kind: AllocationType) -> None:
    whole = own.allocate_bytes(4 * own.capabilities.buffer_alignment, allocation_type=kind)
    first, second = whole.part(0), whole.part(own.capabilities.buffer_alignment)
    first.release()
    assert first.is_released and not second.is_released and not whole.is_released
    whole.release()
    assert second.is_released and own.ledger.current == 0
    with pytest.raises(ClinferError, match="was released"):
        _ = second.native


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_kernels_take_every_type(engine: Engine, any_stream: Stream, rng: np.random.Generator, one: AllocationType,
                                 other: AllocationType) -> None:
    kernel = engine.create_kernel(program_of(engine), "add")
    a, b = rng.integers(-9, 9, (2, 256), np.int32)
    for first, second in ((one, other), (other, one)):
        left, right = (engine.allocate_bytes(a.nbytes, allocation_type=kind) for kind in (first, second))
        any_stream.write(left, a)
        any_stream.write(right, b)
        kernel.set_buffer(0, left)
        kernel.set_buffer(1, right)
        any_stream.enqueue(kernel, WorkSize((256,), (64,)))
        any_stream.enqueue(kernel, WorkSize((256,), (64,)))
        np.testing.assert_array_equal(any_stream.read(right, np.empty_like(b)), b + 2 * a)


@pytest.mark.parametrize("kind", ALLOCATION_TYPES)
def test_the_host_sees_memory_while_it_is_mapped(engine: Engine, any_stream: Stream, rng: np.random.Generator,
                                                 kind: AllocationType) -> None:
    data = rng.integers(0, 256, 300, np.uint8)
    memory = poisoned(engine, any_stream, 300, kind)
    with any_stream.mapped(memory) as seen:
        assert seen.dtype == np.uint8 and seen.shape == (300,) and (seen == 0xA5).all()
        seen[100:] = data[100:]
    any_stream.fill(memory, 7, nbytes=50)
    with any_stream.mapped(memory) as seen:
        assert (seen[:50] == 7).all() and (seen[50:100] == 0xA5).all()
        np.testing.assert_array_equal(seen[100:], data[100:])
    with any_stream.mapped(engine.allocate_bytes(0, allocation_type=kind)) as seen:
        assert seen.size == 0


@pytest.mark.parametrize("kind", ALLOCATION_TYPES)
def test_a_host_view_is_the_memory_itself(engine: Engine, stream: Stream, kind: AllocationType) -> None:
    memory = poisoned(engine, stream, 256, kind)
    if engine.native_types[kind] not in ("usm_host", "usm_shared", "svm"):
        assert not memory.is_host_visible
        with pytest.raises(ClinferError, match=r"does not see.*|mapped"):
            memory.host_view()
        return
    kernel = engine.create_kernel(program_of(engine), "add")
    stream.finish()
    view = memory.host_view().view(np.int32)
    view[:] = np.arange(64)
    kernel.set_buffer(0, memory)
    kernel.set_buffer(1, memory)
    stream.enqueue(kernel, WorkSize((64,), (64,)))
    stream.finish()
    np.testing.assert_array_equal(view, 2 * np.arange(64))
    with stream.mapped(memory) as seen:
        assert np.shares_memory(seen, view)


@pytest.mark.parametrize("kind", ALLOCATION_TYPES)
def test_a_pointer_or_a_buffer_but_not_both(engine: Engine, kind: AllocationType) -> None:
    memory = engine.allocate_bytes(64, allocation_type=kind)
    if memory.native_type in ("cl_mem", "host_cl_mem"):
        assert memory.cl_buffer.size >= 64
        with pytest.raises(ClinferError, match="no pointer"):
            _ = memory.address
    else:
        assert memory.address % 64 == 0
        with pytest.raises(ClinferError, match="no OpenCL buffer"):
            _ = memory.cl_buffer


@pytest.mark.parametrize("kind", ALLOCATION_TYPES)
def test_a_view_outlives_the_memory_object(own: Engine, kind: AllocationType) -> None:
    if own.native_types[kind] not in ("usm_host", "usm_shared", "svm"):
        pytest.skip("the host does not see it")
    view = own.allocate_bytes(4096, allocation_type=kind).host_view()
    gc.collect()
    assert own.ledger.held()[kind] == 4096
    view[:] = 3
    assert (view == 3).all()
    del view
    assert own.ledger.held()[kind] == 0


@pytest.mark.parametrize("drop_stream_first", [False, True])
@pytest.mark.parametrize("how", ["release", "drop"])
@pytest.mark.parametrize("kind", ALLOCATION_TYPES)
def test_memory_given_back_waits_for_its_kernels(own: Engine, kind: AllocationType, how: str,
                                                 drop_stream_first: bool) -> None:
    """What comes to lie at the same place must not be written to by kernels of before."""
    count = 1 << 12
    program = program_of(own)
    for _ in range(3):
        stream, kernel = own.create_stream(), own.create_kernel(program, "count_up")
        memory = own.allocate_bytes(4 * count, zero=True, allocation_type=kind)
        kernel.set_buffer(0, memory)
        stream.enqueue(kernel, WorkSize((count,), (64,)))
        if drop_stream_first:
            stream.flush()
            del stream
        if how == "release":
            memory.release()
        del memory, kernel
        later = own.create_stream()
        following = own.allocate_bytes(4 * count, allocation_type=kind)
        later.fill(following, 0x11)
        later.finish()
        assert (later.read(following) == 0x11).all()


def test_unknown_types_are_refused(engine: Engine) -> None:
    with pytest.raises(ClinferError, match="no allocation type usm"):
        engine.allocate_bytes(8, allocation_type="usm")  # type: ignore[arg-type]
