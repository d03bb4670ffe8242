"""Memory that is a pointer: Intel's unified shared memory (USM), and OpenCL's shared virtual memory (SVM).

The functions of both have the same arguments. An address is a plain integer.
"""
from __future__ import annotations

import contextlib
import ctypes
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyopencl as cl

from clinfer.runtime import driver
from clinfer.runtime.driver import HANDLE, StatusError
from clinfer.runtime.memory_types import NativeType

_ALIGNMENT = 64
_SVM_FLAGS = int(cl.mem_flags.READ_WRITE) | int(cl.svm_mem_flags.SVM_FINE_GRAIN_BUFFER)
_STATUS = ctypes.POINTER(ctypes.c_int)
_SET = [HANDLE, ctypes.c_uint, HANDLE]
_COPY = [HANDLE, ctypes.c_uint, HANDLE, HANDLE, ctypes.c_size_t, ctypes.c_uint, HANDLE, HANDLE]
_FILL = [HANDLE, HANDLE, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_uint, HANDLE, HANDLE]

_USM_TYPE, _USM_BASE, _USM_SIZE = 0x419A, 0x419B, 0x419C
_USM_TYPES: dict[int, NativeType] = {0x4197: "usm_host", 0x4198: "usm_device", 0x4199: "usm_shared"}

Allocate = Callable[[int], int]
"""From a byte count to an address; StatusError where the driver refuses."""


@dataclass(frozen=True)
class PointerCalls:
    """The driver's functions for one kind of pointers; all but `allocate` and `free` return a status.

    `set_argument(kernel, index, address)`; `copy(queue, blocking, target, source, nbytes, 0, None, event or None)`,
    where either may be a host address; `fill(queue, target, pattern, pattern's bytes, nbytes, 0, None, None)`.
    """

    allocate: dict[NativeType, Allocate]
    free: Callable[[int], Any]
    set_argument: Callable[..., int]
    copy: Callable[..., int]
    fill: Callable[..., int]


def usm_calls(context: cl.Context, device: cl.Device) -> PointerCalls | None:
    """Intel's extension, or None where the platform lacks it."""
    def function(name: str, result: Any, arguments: list[Any]) -> Callable[..., Any] | None:
        return driver.extension_function(device.platform, f"cl{name}INTEL", result, arguments)

    sizes = [ctypes.c_size_t, ctypes.c_uint, _STATUS]
    on_host = function("HostMemAlloc", HANDLE, [HANDLE, HANDLE, *sizes])
    on_device = function("DeviceMemAlloc", HANDLE, [HANDLE, HANDLE, HANDLE, *sizes])
    on_both = function("SharedMemAlloc", HANDLE, [HANDLE, HANDLE, HANDLE, *sizes])
    free = function("MemFree", ctypes.c_int, [HANDLE, HANDLE])
    set_argument = function("SetKernelArgMemPointer", ctypes.c_int, _SET)
    copy = function("EnqueueMemcpy", ctypes.c_int, _COPY)
    fill = function("EnqueueMemFill", ctypes.c_int, _FILL)
    if not (on_host and on_device and on_both and free and set_argument and copy and fill):
        return None
    return PointerCalls(
        {"usm_host": _allocator(on_host, context.int_ptr, None),
         "usm_device": _allocator(on_device, context.int_ptr, device.int_ptr, None),
         "usm_shared": _allocator(on_both, context.int_ptr, device.int_ptr, None)},
        lambda address: free(context.int_ptr, address), set_argument, copy, fill)


@dataclass(frozen=True)
class UsmAllocation:
    """What the driver knows of a pointer: its type, and the allocation in which it lies."""

    kind: NativeType
    base: int
    nbytes: int


def find_usm(context: cl.Context, device: cl.Device, address: int) -> UsmAllocation | None:
    """The allocation of Intel's extension in which an address lies; None if it lies in none of this context."""
    ask = driver.extension_function(device.platform, "clGetMemAllocInfoINTEL", ctypes.c_int,
                                    [HANDLE, HANDLE, ctypes.c_uint, ctypes.c_size_t, HANDLE, HANDLE])
    if ask is None:
        return None

    def value(key: int, kind: type[ctypes.c_uint] | type[ctypes.c_size_t]) -> int:
        found = kind()
        status = ask(context.int_ptr, address, key, ctypes.sizeof(found), ctypes.addressof(found), None)
        return 0 if status else int(found.value)

    kind = _USM_TYPES.get(value(_USM_TYPE, ctypes.c_uint))
    return kind and UsmAllocation(kind, value(_USM_BASE, ctypes.c_size_t), value(_USM_SIZE, ctypes.c_size_t))


def svm_calls(context: cl.Context) -> PointerCalls | None:
    """OpenCL 2.0's functions, or None where the library lacks them."""
    allocate = driver.optional_function("clSVMAlloc", HANDLE, [HANDLE, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_uint])
    free = driver.optional_function("clSVMFree", None, [HANDLE, HANDLE])
    set_argument = driver.optional_function("clSetKernelArgSVMPointer", ctypes.c_int, _SET)
    copy = driver.optional_function("clEnqueueSVMMemcpy", ctypes.c_int, _COPY)
    fill = driver.optional_function("clEnqueueSVMMemFill", ctypes.c_int, _FILL)
    if not (allocate and free and set_argument and copy and fill):
        return None

    def make(nbytes: int) -> int:
        address = allocate(context.int_ptr, _SVM_FLAGS, nbytes, _ALIGNMENT)
        if not address:
            raise StatusError(cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE)
        return int(address)

    return PointerCalls({"svm": make}, lambda address: free(context.int_ptr, address), set_argument, copy, fill)


def _allocator(function: Callable[..., Any], *leading: int | None) -> Allocate:
    def allocate(nbytes: int) -> int:
        status = ctypes.c_int()
        address = function(*leading, nbytes, _ALIGNMENT, ctypes.byref(status))
        if not address or status.value:
            raise StatusError(status.value or cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE)
        return int(address)
    return allocate


class Pointers:
    """The pointers of one engine. They are freed once all its queues are done, because the driver does not wait."""

    def __init__(self, calls: PointerCalls) -> None:
        self.calls = calls
        self._queues: dict[object, cl.CommandQueue] = {}
        self._count = 0

    def watch(self, owner: object, cl_queue: cl.CommandQueue) -> None:
        """Wait for this queue, too, before a pointer is freed; `owner` is what hands it commands."""
        key = object()
        self._queues[key] = cl_queue
        weakref.finalize(owner, self._unwatch, key).atexit = False

    def allocate(self, kind: NativeType, nbytes: int) -> int:
        """The address of new memory; StatusError where the driver refuses."""
        address = self.calls.allocate[kind](nbytes)
        self._count += 1
        return address

    def free(self, address: int) -> None:
        """Give memory back; commands that were given before may still use it."""
        for queue in list(self._queues.values()):
            _finish(queue)
        self._count -= 1
        self.calls.free(address)

    def _unwatch(self, key: object) -> None:
        queue = self._queues.pop(key)
        if self._count:
            _finish(queue)


def _finish(queue: cl.CommandQueue) -> None:
    # A queue that failed will not use the memory any more.
    with contextlib.suppress(cl.Error):
        queue.finish()


def view_of(address: int, nbytes: int, owner: object) -> np.ndarray:
    """The bytes at a host address as an array that keeps `owner` alive."""
    bytes_there = (ctypes.c_ubyte * nbytes).from_address(address)
    bytes_there.owner = owner  # type: ignore[attr-defined]
    return np.frombuffer(memoryview(bytes_there), np.uint8)
