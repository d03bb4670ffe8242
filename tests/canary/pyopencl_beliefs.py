"""What clinfer leans on in pyopencl."""
from __future__ import annotations

import ctypes
import importlib
from functools import cache

import numpy as np
import pyopencl as cl

from clinfer.runtime.device import DeviceInfo, available_devices
from tests.canary.belief import Beliefs

BELIEFS = Beliefs("pyopencl")
SOURCE = """
typedef struct { int factor; int summand; } args_t;
kernel void scale(global const int* from, global int* to, const args_t args) {
    to[get_global_id(0)] = from[get_global_id(0)] * args.factor + args.summand;
}
"""


@cache
def _device() -> DeviceInfo:
    return available_devices()[0]


@cache
def _context() -> cl.Context:
    return cl.Context([_device().cl_device])


@cache
def _queue() -> cl.CommandQueue:
    return cl.CommandQueue(_context())


def _buffer(array: np.ndarray) -> cl.Buffer:
    return cl.Buffer(_context(), cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=array)


def _contents(buffer: cl.Buffer, count: int) -> list[int]:
    found = np.empty(count, np.int32)
    cl.enqueue_copy(_queue(), found, buffer)
    return [int(value) for value in found]


def _program() -> cl._cl._Program:
    program = cl._cl._Program(_context(), SOURCE)
    program._build(b"", [_device().cl_device])
    return program


@BELIEFS.that("cl._cl._Program(context, source) and (context, [device], [binary]) are built by _build(options as "
              "bytes, [device]), tell the compiler's log, and keep no cache on disk", "clinfer/runtime/program.py",
              private=("_cl", "_Program", "_build"))
def _programs() -> None:
    device = _device().cl_device
    program = _program()
    binary = bytes(program.get_info(cl.program_info.BINARIES)[program.get_info(cl.program_info.DEVICES).index(device)])
    again = cl._cl._Program(_context(), [device], [binary])
    again._build(b"", [device])
    assert "scale" in str(again.get_info(cl.program_info.KERNEL_NAMES)).split(";")
    broken = cl._cl._Program(_context(), "kernel void broken( {")
    try:
        broken._build(b"", [device])
    except cl.Error:
        assert str(broken.get_build_info(device, cl.program_build_info.LOG)).strip()
    else:
        raise AssertionError("a program that is no OpenCL C was built")


@BELIEFS.that("Kernel._set_arg_buf(index, bytes) sets a struct by value, and kernel objects take buffers by set_arg",
              "clinfer/runtime/trial.py", "clinfer/runtime/probe_bench.py", private=("_set_arg_buf",))
def _arguments() -> None:
    kernel = cl.Kernel(_program(), "scale")
    given, taken = _buffer(np.arange(4, dtype=np.int32)), _buffer(np.zeros(4, np.int32))
    kernel.set_arg(0, given)
    kernel.set_arg(1, taken)
    kernel._set_arg_buf(2, np.array([3, 5], np.int32).tobytes())
    cl.enqueue_nd_range_kernel(_queue(), kernel, (4,), None)
    assert _contents(taken, 4) == [5, 8, 11, 14]


@BELIEFS.that("_enqueue_write_buffer and _enqueue_read_buffer take (queue, buffer, array, offset, events, blocking) by "
              "position", "clinfer/runtime/transfers.py", "clinfer/runtime/probes.py", "clinfer/runtime/probe_bench.py",
              private=("_enqueue_read_buffer", "_enqueue_write_buffer"))
def _transfers() -> None:
    buffer, found = _buffer(np.zeros(4, np.int32)), np.zeros(2, np.int32)
    cl._cl._enqueue_write_buffer(_queue(), buffer, np.array([7, 8], np.int32), 4, None, True)
    event = cl._cl._enqueue_read_buffer(_queue(), buffer, found, 4, None, True)
    assert found.tolist() == [7, 8] and isinstance(event, cl.Event)
    assert _contents(buffer, 4) == [0, 7, 8, 0]


@BELIEFS.that("_enqueue_copy_buffer takes (queue, from, to, bytes, offset, offset), _enqueue_copy_buffer_rect tuples "
              "of origins, region and pitches, _enqueue_fill_buffer a pattern as an array, all by position",
              "clinfer/runtime/transfers.py", "clinfer/runtime/trial.py",
              private=("_enqueue_copy_buffer", "_enqueue_copy_buffer_rect", "_enqueue_fill_buffer"))
def _copies() -> None:
    given, taken = _buffer(np.arange(1, 7, dtype=np.int32)), _buffer(np.zeros(6, np.int32))
    cl._cl._enqueue_copy_buffer(_queue(), given, taken, 8, 4, 12)
    assert _contents(taken, 6) == [0, 0, 0, 2, 3, 0]
    cl._cl._enqueue_copy_buffer_rect(_queue(), given, taken, (4, 0, 0), (0, 0, 0), (8, 2, 1), (12,), (8,))
    assert _contents(taken, 6) == [2, 3, 5, 6, 3, 0]
    cl._cl._enqueue_fill_buffer(_queue(), taken, np.array([9], np.int32).view(np.uint8), 4, 8)
    assert _contents(taken, 6) == [2, 9, 9, 6, 3, 0]


@BELIEFS.that("the library of pyopencl, cl._cl.__file__, offers OpenCL's functions to ctypes, for pyopencl's own "
              "handles (int_ptr)", "clinfer/runtime/driver.py", private=("_cl",))
def _symbols() -> None:
    library = ctypes.CDLL(cl._cl.__file__)
    size = ctypes.c_size_t()
    library.clGetMemObjectInfo.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t, ctypes.c_void_p,
                                           ctypes.c_void_p]
    buffer = _buffer(np.zeros(6, np.int32))
    status = library.clGetMemObjectInfo(buffer.int_ptr, int(cl.mem_info.SIZE), 8, ctypes.addressof(size), None)
    assert (status, size.value) == (0, 24)


@BELIEFS.that("from_int_ptr(handle, False) takes a handle over, of platforms, contexts, memory and events; with True "
              "it retains it first", "clinfer/runtime/platforms.py", "clinfer/runtime/stream.py",
              "clinfer/remote/objects.py")
def _handles() -> None:
    platform = _device().cl_device.platform
    assert cl.Platform.from_int_ptr(platform.int_ptr, False).name == platform.name
    buffer = _buffer(np.arange(3, dtype=np.int32))
    count = buffer.get_info(cl.mem_info.REFERENCE_COUNT)
    other = cl.MemoryObject.from_int_ptr(buffer.int_ptr, True)
    assert buffer.get_info(cl.mem_info.REFERENCE_COUNT) == count + 1
    assert other.int_ptr == buffer.int_ptr and other.size == 12
    del other
    assert buffer.get_info(cl.mem_info.REFERENCE_COUNT) == count
    assert isinstance(cl.Buffer.from_int_ptr(buffer.int_ptr, True), cl.Buffer)
    event = cl._cl._enqueue_read_buffer(_queue(), buffer, np.empty(3, np.int32), 0, None, True)
    before = event.get_info(cl.event_info.REFERENCE_COUNT)
    second = cl.Event.from_int_ptr(event.int_ptr, True)
    second.wait()
    assert event.get_info(cl.event_info.REFERENCE_COUNT) == before + 1


@BELIEFS.that("while cl._PYOPENCL_NO_CACHE is true, making a Kernel neither reads nor writes the database of launchers",
              "clinfer/runtime/driver.py", private=("_PYOPENCL_NO_CACHE",))
def _no_database() -> None:
    invoker = importlib.import_module("pyopencl.invoker")

    class Untouchable:
        def __getattr__(self, name: str) -> object:
            raise AssertionError(f"the database was asked for {name}")

        def __getitem__(self, key: object) -> object:
            raise AssertionError("the database was read")

    was, kept = cl._PYOPENCL_NO_CACHE, getattr(invoker, "invoker_cache", None)
    invoker.invoker_cache = Untouchable()
    cl._PYOPENCL_NO_CACHE = True
    try:
        kernel = cl.Kernel(_program(), "scale")
        cl.Kernel.from_int_ptr(kernel.int_ptr)
    finally:
        cl._PYOPENCL_NO_CACHE, invoker.invoker_cache = was, kept
