"""OpenCL functions called through ctypes, for the few calls on which pyopencl's wrappers cost too much.

A `pyopencl.Kernel` takes about 200 us to make and an event is created for every launch; the functions
below do neither. Handles are plain integers (`pyopencl.*.int_ptr`) or prepared `c_void_p` objects.
"""
from __future__ import annotations

import ctypes
import importlib
import os
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import platformdirs
import pyopencl as cl

from clinfer.base.errors import ClinferError

HANDLE = ctypes.c_void_p


class StatusError(Exception):
    """A function of the driver returned this status."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def check(status: int) -> None:
    """Raise StatusError unless the status means success."""
    if status:
        raise StatusError(status)


def _libraries() -> Iterator[ctypes.CDLL]:
    """Where OpenCL's symbols are looked up, in the order in which the linker did it for pyopencl itself."""
    if os.name != "nt":
        yield ctypes.CDLL(None)
    yield ctypes.CDLL(cl._cl.__file__)
    if os.name == "nt":
        yield ctypes.CDLL("OpenCL.dll")


def optional_function(name: str, result: Any, arguments: list[Any] | None) -> Callable[..., Any] | None:
    """A function of the OpenCL library, or None where it lacks it."""
    for library in _libraries():
        if hasattr(library, name):
            function = library[name]
            function.restype = result
            if arguments is not None:
                function.argtypes = arguments
            return function
    return None


def _resolve(name: str, result: Any, arguments: list[Any] | None) -> Callable[..., Any]:
    function = optional_function(name, result, arguments)
    if function is not None:
        return function
    raise ClinferError(f"the OpenCL library does not offer {name}", where="import of clinfer.runtime",
                       values={"pyopencl": cl.VERSION_TEXT}, hint="reinstall pyopencl")


enqueue_nd_range_kernel = _resolve("clEnqueueNDRangeKernel", ctypes.c_int, None)
"""(queue, kernel, dims, None, global sizes, local sizes, count of events, events or None, event or None) -> status.

Declares no argument types, which saves 0.4 us a call: every pointer must come as a ctypes object or None.
"""

set_kernel_arg = _resolve("clSetKernelArg", ctypes.c_int, None)
"""(kernel, index, `size_of` the byte count, bytes or None for local memory) -> status.

Declares no argument types either: the kernel must come as a `HANDLE`.
"""

size_of = lru_cache(maxsize=1024)(ctypes.c_size_t)
"""A number as a `size_t`."""

release_kernel = _resolve("clReleaseKernel", ctypes.c_int, [HANDLE])
"""(kernel) -> status."""

_OFFSETS = ctypes.c_size_t * 3
_TRANSFER = [HANDLE, HANDLE, ctypes.c_uint, ctypes.c_size_t, ctypes.c_size_t, HANDLE, ctypes.c_uint, HANDLE, HANDLE]
_RECTANGLE = [HANDLE, HANDLE, ctypes.c_uint, _OFFSETS, _OFFSETS, _OFFSETS, *[ctypes.c_size_t] * 4, HANDLE,
              ctypes.c_uint, HANDLE, HANDLE]

read_buffer = _resolve("clEnqueueReadBuffer", ctypes.c_int, _TRANSFER)
"""(queue, buffer, blocking, offset, byte count, host address, 0, None, None) -> status."""

write_buffer = _resolve("clEnqueueWriteBuffer", ctypes.c_int, _TRANSFER)
"""The same, the other way."""

read_rectangle = _resolve("clEnqueueReadBufferRect", ctypes.c_int, _RECTANGLE)
"""(queue, buffer, blocking, buffer's, host's origin, region, row and slice pitch of the buffer, of the host, host
address, 0, None, None) -> status."""

write_rectangle = _resolve("clEnqueueWriteBufferRect", ctypes.c_int, _RECTANGLE)
"""The same, the other way."""

copy_buffer = _resolve("clEnqueueCopyBuffer", ctypes.c_int, None)
copy_rectangle = _resolve("clEnqueueCopyBufferRect", ctypes.c_int, None)
"""For `launch_loop.c`, which calls them."""

create_buffer = _resolve("clCreateBuffer", HANDLE, [HANDLE, ctypes.c_uint64, ctypes.c_size_t, HANDLE,
                                                    ctypes.POINTER(ctypes.c_int)])
"""(context, flags, byte count, host address or None, status) -> buffer. Unlike pyopencl's, it keeps no host array."""

create_context = _resolve("clCreateContext", HANDLE, [HANDLE, ctypes.c_uint, HANDLE, HANDLE, HANDLE,
                                                      ctypes.POINTER(ctypes.c_int)])
"""(properties, count of devices, devices, None, None, status) -> context; takes properties that pyopencl does not."""

finish = _resolve("clFinish", ctypes.c_int, [HANDLE])
"""(queue) -> status. A thread that blocks here may be left alone when Python ends: there is nothing of C++ on its
stack, which could not be left."""

_wait_for_events = _resolve("clWaitForEvents", ctypes.c_int, [ctypes.c_uint, HANDLE])

_build_program = _resolve("clBuildProgram", ctypes.c_int, [
    HANDLE, ctypes.c_uint, ctypes.POINTER(HANDLE), ctypes.c_char_p, HANDLE, HANDLE])

release_event = _resolve("clReleaseEvent", ctypes.c_int, [HANDLE])
"""(event) -> status."""

get_device_info = _resolve("clGetDeviceInfo", ctypes.c_int, [HANDLE, ctypes.c_uint, ctypes.c_size_t, HANDLE, HANDLE])
"""(device, key, byte count, buffer, None) -> status; for keys that pyopencl does not know."""



class KernelHandle(ctypes.c_void_p):
    """A kernel that is released with its handle. Whatever interrupts the code behind a call that gives one, it has an
    owner from the beginning."""

    def __del__(self, release: Callable[..., Any] = release_kernel,
                is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if self.value is not None and not is_finalizing():
            release(self)


_create_kernel = _resolve("clCreateKernel", KernelHandle, [HANDLE, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int)])
_extension_address = _resolve("clGetExtensionFunctionAddressForPlatform", HANDLE, [HANDLE, ctypes.c_char_p])


def api_is_preloaded() -> bool:
    """Whether a preloaded library (a simulator such as Oclgrind) answers in place of the system's loader.

    It must not be handed objects of another driver.
    """
    preloads = os.name != "nt" and bool(os.environ.get("LD_PRELOAD"))
    return preloads and hasattr(ctypes.CDLL(None), "clGetPlatformIDs")


def build_program(program: cl._cl._Program, device: cl.Device, options: str) -> int:
    """The status of building a program for one of its devices. As with `finish`, a thread may be left alone in it."""
    return int(_build_program(program.int_ptr, 1, ctypes.byref(HANDLE(device.int_ptr)), options.encode(), None, None))


def wait_for_all(events: Sequence[cl.Event]) -> int:
    """The status of waiting for events, as with `finish`."""
    return int(_wait_for_events(len(events), (HANDLE * len(events))(*[event.int_ptr for event in events])))


def create_kernel(program: int, entry: str) -> tuple[KernelHandle, int]:
    """(the kernel, which is nothing if that failed, status)."""
    status = ctypes.c_int()
    return _create_kernel(program, entry.encode(), ctypes.byref(status)), status.value


_wrapping = threading.Lock()
_INVOKER = "pyopencl.invoker"
_DATABASE_BYTES = 1 << 16


def wrap_kernel(handle: KernelHandle) -> cl.Kernel:
    """pyopencl's object for a kernel, which it retains; making it takes about 200 us.

    pyopencl keeps the Python code of each kernel's launcher in a database in the user's cache folder, and fails where
    that cannot be written (no home, a full disk). It is not used for our kernels.
    """
    with _wrapping:
        _import_invoker()
        kept = cl._PYOPENCL_NO_CACHE
        cl._PYOPENCL_NO_CACHE = True
        try:
            return cl.Kernel.from_int_ptr(handle.value)
        finally:
            cl._PYOPENCL_NO_CACHE = kept


def _import_invoker() -> None:
    """Import what pyopencl makes kernels with: its database is opened by the import, or for good not at all."""
    if _INVOKER in sys.modules:
        return
    if not _can_write(Path(platformdirs.user_cache_dir("pytools", "pytools"))):
        cl._PYOPENCL_NO_CACHE = True
    try:
        importlib.import_module(_INVOKER)
    except sqlite3.Error:
        cl._PYOPENCL_NO_CACHE = True
        importlib.import_module(_INVOKER)


def _can_write(folder: Path) -> bool:
    """Whether a database finds room there; SQLite itself would, in Python 3.10, try without an end."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_DATABASE_BYTES))
    except OSError:
        return False
    return True


def extension_function(platform: cl.Platform, name: str, result: Any, arguments: list[Any],
                       ) -> Callable[..., Any] | None:
    """An extension's function, or None where the platform lacks it."""
    address = _extension_address(platform.int_ptr, name.encode())
    return ctypes.CFUNCTYPE(result, *arguments)(address) if address else None
