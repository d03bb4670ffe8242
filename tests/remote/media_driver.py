"""A driver that shares memory with VA-API and Direct3D 11, as far as clinfer can tell: it records what it is asked, and
hands out ordinary images and buffers."""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pyopencl as cl
import pytest

from clinfer.remote import media
from clinfer.runtime import driver, media_sharing
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.media_sharing import MediaApi

ADAPTER = 0xADA0


class MediaDriver:
    """`calls`: (function, what it was given) in their order. `surfaces`: (handle, plane) -> image. `buffers`: handle ->
    buffer. `statuses`: what functions return, where it is not success."""

    def __init__(self, api: MediaApi, device: DeviceInfo, patch: pytest.MonkeyPatch) -> None:
        self.api, self.device = api, device
        self.calls: list[tuple[str, Any]] = []
        self.surfaces: dict[tuple[int, int], cl.Image] = {}
        self.buffers: dict[int, cl.Buffer] = {}
        self.statuses: dict[str, int] = {}
        self.extensions = {api.extension, api.plane_extension}
        self.functions: dict[str, Callable[..., Any]] = {
            api.find_devices: self._find, api.create_surface: self._surface, api.create_buffer: self._buffer,
            api.acquire: lambda *given: self._enqueue("acquire", *given),
            api.release: lambda *given: self._enqueue("release", *given)}
        real_function, self._real_context = driver.extension_function, driver.create_context

        def function(platform: cl.Platform, name: str, *signature: Any) -> Callable[..., Any] | None:
            assert platform == device.cl_device.platform or name not in self.functions
            return self.functions.get(name) or real_function(platform, name, *signature)
        patch.setattr(driver, "extension_function", function)
        patch.setattr(driver, "create_context", self._context)
        for module in (media, media_sharing):
            patch.setattr(module, "has_extension",
                          lambda found, name: found == device.cl_device and name in self.extensions)

    def told(self, *names: str) -> list[Any]:
        """What these functions were given."""
        return [given for name, given in self.calls if name in names]

    def _status(self, name: str, status: Any) -> bool:
        status._obj.value = self.statuses.get(name, 0)
        return not status._obj.value

    def _find(self, platform: int, source: int, adapter: int, wanted: int, room: int, devices: int | None,
              count: int | None) -> int:
        self.calls.append(("find", (platform, source, adapter, wanted)))
        if self.statuses.get("find"):
            return self.statuses["find"]
        if count is not None:
            ctypes.c_uint.from_address(count).value = 1
        if devices is not None:
            assert room == 1
            ctypes.c_void_p.from_address(devices).value = self.device.cl_device.int_ptr
        return 0

    def _context(self, properties: int, count: int, devices: int, notify: None, data: None, status: Any) -> int:
        given = list((ctypes.c_ssize_t * 5).from_address(properties))
        self.calls.append(("context", (given, count, ctypes.c_void_p.from_address(devices).value)))
        if not self._status("context", status):
            return 0
        return int(self._real_context(None, count, devices, notify, data, status))

    def _surface(self, context: int, flags: int, surface: int, plane: int, status: Any) -> int:
        handle = ctypes.c_uint.from_address(surface).value if self.api.surface_by_address else surface
        self.calls.append(("surface", (context, flags, handle, plane)))
        return self._handed_out(self.surfaces[handle, plane]) if self._status("surface", status) else 0

    def _buffer(self, context: int, flags: int, buffer: int, status: Any) -> int:
        self.calls.append(("buffer", (context, flags, buffer)))
        return self._handed_out(self.buffers[buffer]) if self._status("buffer", status) else 0

    @staticmethod
    def _handed_out(memory: cl.MemoryObject) -> int:
        """A handle with a reference of its own, as new objects have."""
        function = driver.optional_function("clRetainMemObject", ctypes.c_int, [ctypes.c_void_p])
        assert function is not None and function(memory.int_ptr) == 0
        return int(memory.int_ptr)

    def _enqueue(self, name: str, queue: int, count: int, memories: int, waits: int, events: None, event: None) -> int:
        handles = list((ctypes.c_void_p * count).from_address(memories))
        self.calls.append((name, (queue, sorted(map(int, handles)))))  # type: ignore[arg-type]
        return self.statuses.get(name, 0)
