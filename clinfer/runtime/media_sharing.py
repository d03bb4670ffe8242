"""Memory of video and graphics APIs in OpenCL: the extensions that share it, and their functions."""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyopencl as cl

from clinfer.base.errors import ClinferError
from clinfer.runtime import driver
from clinfer.runtime.driver import HANDLE, StatusError
from clinfer.runtime.status import driver_error
from clinfer.runtime.stream import Stream

_STATUS = ctypes.POINTER(ctypes.c_int)
_FIND = [HANDLE, ctypes.c_uint, HANDLE, ctypes.c_uint, ctypes.c_uint, HANDLE, HANDLE]
_ENQUEUE = [HANDLE, ctypes.c_uint, HANDLE, ctypes.c_uint, HANDLE, HANDLE]
_PLANE = [HANDLE, ctypes.c_uint64, HANDLE, ctypes.c_uint, _STATUS]
_BUFFER = [HANDLE, ctypes.c_uint64, HANDLE, _STATUS]
_CONTEXT_PLATFORM = 0x1084
_NO_DEVICE = -1


@dataclass(frozen=True)
class MediaApi:
    """One API and the extension that shares its memory. Numbers and functions are those of the extension.

    `adapter`: what a context is made for. `source`, `preferred`: which kind of adapter is given, and which of its
    devices are asked for. `property`: the context's property that holds the adapter. `surface_by_address`: surfaces are
    numbers that are given by their address, else pointers that are given themselves.
    """

    name: str
    extension: str
    adapter: str
    source: int
    preferred: int
    property: int
    find_devices: str
    create_surface: str
    acquire: str
    release: str
    surface_by_address: bool = False
    create_buffer: str = ""
    plane_extension: str = ""


VA_API = MediaApi(
    "VA-API", "cl_intel_va_api_media_sharing", "VADisplay", 0x4094, 0x4095, 0x4097,
    "clGetDeviceIDsFromVA_APIMediaAdapterINTEL", "clCreateFromVA_APIMediaSurfaceINTEL",
    "clEnqueueAcquireVA_APIMediaSurfacesINTEL", "clEnqueueReleaseVA_APIMediaSurfacesINTEL", surface_by_address=True)
D3D11 = MediaApi(
    "Direct3D 11", "cl_khr_d3d11_sharing", "ID3D11Device", 0x4019, 0x401B, 0x401D,
    "clGetDeviceIDsFromD3D11KHR", "clCreateFromD3D11Texture2DKHR",
    "clEnqueueAcquireD3D11ObjectsKHR", "clEnqueueReleaseD3D11ObjectsKHR",
    create_buffer="clCreateFromD3D11BufferKHR", plane_extension="cl_intel_d3d11_nv12_media_sharing")


def has_extension(device: cl.Device, name: str) -> bool:
    """Whether a device or its platform reports an extension."""
    return name in device.extensions.split() or name in device.platform.extensions.split()


class MediaCalls:
    """The functions of a platform that reports an API's extension; handles are integers."""

    def __init__(self, api: MediaApi, platform: cl.Platform) -> None:
        self.api = api
        self._platform = platform
        self._find = self._function(api.find_devices, ctypes.c_int, _FIND)
        self._create_surface = self._function(api.create_surface, HANDLE, _PLANE)
        self._acquire = self._function(api.acquire, ctypes.c_int, _ENQUEUE)
        self._release = self._function(api.release, ctypes.c_int, _ENQUEUE)

    def find_device(self, adapter: int) -> int | None:
        """The preferred OpenCL device of an adapter; None if this platform has none."""
        count = ctypes.c_uint()
        where = self._platform.int_ptr, self.api.source, adapter, self.api.preferred
        status = self._find(*where, 0, None, ctypes.addressof(count))
        if status == _NO_DEVICE or (not status and not count.value):
            return None
        found = (HANDLE * max(count.value, 1))()
        self._check(status or self._find(*where, count.value, ctypes.addressof(found), None),
                    f"find the devices of the {self.api.adapter}")
        return found[0]

    def open_context(self, device: int, adapter: int) -> cl.Context:
        """A new context of a device, which shares memory with the adapter."""
        properties = (ctypes.c_ssize_t * 5)(_CONTEXT_PLATFORM, self._platform.int_ptr, self.api.property, adapter, 0)
        status, devices = ctypes.c_int(), (HANDLE * 1)(device)
        handle = driver.create_context(ctypes.addressof(properties), 1, ctypes.addressof(devices), None, None,
                                       ctypes.byref(status))
        self._check(status.value, f"open a context for the {self.api.adapter}")
        return cl.Context.from_int_ptr(handle, False)

    def open_surface(self, context: cl.Context, surface: int, plane: int) -> cl.Image:
        """One plane of a surface or texture as an image."""
        number = ctypes.c_uint(surface) if self.api.surface_by_address else None
        given = surface if number is None else ctypes.addressof(number)
        return self._memory(lambda status: self._create_surface(
            context.int_ptr, cl.mem_flags.READ_WRITE, given, plane, status), f"share plane {plane} of a surface")

    def open_buffer(self, context: cl.Context, buffer: int) -> cl.Buffer:
        """A buffer of the API as one of OpenCL's."""
        create = self._function(self.api.create_buffer, HANDLE, _BUFFER)
        return self._memory(lambda status: create(context.int_ptr, cl.mem_flags.READ_WRITE, buffer, status),
                            "share a buffer")

    def acquire(self, stream: Stream, memories: Sequence[int]) -> None:
        """Enqueue that OpenCL takes these cl_mem over, behind what is in the queue."""
        self._enqueue(self._acquire, stream, memories, "acquire")

    def release(self, stream: Stream, memories: Sequence[int]) -> None:
        """Enqueue that OpenCL gives them back."""
        self._enqueue(self._release, stream, memories, "release")

    def _enqueue(self, function: Callable[..., int], stream: Stream, memories: Sequence[int], doing: str) -> None:
        if not stream.in_order:
            stream.barrier()
        handles = (HANDLE * len(memories))(*memories)
        self._check(function(stream.cl_queue.int_ptr, len(memories), ctypes.addressof(handles), 0, None, None),
                    f"{doing} memory of {self.api.name}")

    def _memory(self, create: Callable[[Any], int | None], doing: str) -> Any:
        status = ctypes.c_int()
        handle = create(ctypes.byref(status))
        self._check(status.value, doing)
        return cl.MemoryObject.from_int_ptr(handle, False)

    def _check(self, status: int, doing: str) -> None:
        if status:
            raise driver_error(StatusError(status), doing, where=f"{self.api.name} on {self._platform.name.strip()}",
                               values={"extension": self.api.extension})

    def _function(self, name: str, result: Any, arguments: list[Any]) -> Callable[..., Any]:
        found = driver.extension_function(self._platform, name, result, arguments) if name else None
        if found is None:
            raise ClinferError(f"the driver lacks a function of the extension {self.api.extension}",
                               where=f"{self.api.name} on {self._platform.name.strip()}", values={"function": name},
                               hint="install a newer driver")
        return found
