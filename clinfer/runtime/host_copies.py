"""Copies that the host makes itself where buffers lie in its memory: a driver takes longer for the command than for the
few bytes."""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyopencl as cl

from clinfer.runtime.memory import Memory, NativeBuffer
from clinfer.runtime.status import driver_error

if TYPE_CHECKING:
    from clinfer.runtime.stream import Stream

Read: TypeAlias = tuple[Memory, np.ndarray]

MOST_BYTES = 1 << 17
"""More are copied by the device, beside what the host does."""


class HostCopies:
    """Those of a stream; `works`: whether the host sees buffers and knows of all commands, as of a queue of its own."""

    def __init__(self, works: bool) -> None:
        self._works = works
        self._noted: list[Read] = []

    def write(self, stream: Stream, memory: Memory, offset: int, source: np.ndarray) -> bool:
        """Copy a contiguous array into memory, if the host may, and no command is under way."""
        if not self._takes(memory, source):
            return False
        ctypes.memmove(_address(stream, memory) + offset, source.ctypes.data, source.nbytes)
        return True

    def note(self, memory: Memory, into: np.ndarray) -> bool:
        """Note a read into a contiguous array, if the host may make it once all commands are done."""
        if not self._takes(memory, into):
            return False
        self._noted.append((memory, into))
        return True

    def take(self) -> list[Read]:
        """The reads that were noted, which are noted no more."""
        noted, self._noted = self._noted, []
        return noted

    def _takes(self, memory: Memory, array: np.ndarray) -> bool:
        few = 0 < array.nbytes <= MOST_BYTES and memory.nbytes
        return bool(self._works and few and memory.is_own and isinstance(memory.native, NativeBuffer))


def read_all(stream: Stream, noted: list[Read]) -> None:
    """Make the reads that were noted; no command is under way."""
    for memory, into in noted:
        ctypes.memmove(into.ctypes.data, _address(stream, memory), into.nbytes)


def look_up(stream: Stream, memory: Memory) -> None:
    """Find out where the host sees a memory, on a device whose buffers lie there: the first copy asks for it."""
    if isinstance(memory.native, NativeBuffer):
        _address(stream, memory)


def _address(stream: Stream, memory: Memory) -> int:
    """Where the host sees a buffer, found out once; what the stream keeps until its finish stays kept."""
    native, queue = memory.native, stream.cl_queue
    assert isinstance(native, NativeBuffer)
    if native.host_address is None:
        flags = cl.map_flags.READ | cl.map_flags.WRITE
        try:
            mapped, _ = cl.enqueue_map_buffer(queue, native.cl_buffer, flags, 0, (memory.nbytes,), np.uint8)
            native.host_address = int(mapped.ctypes.data)
            mapped.base.release(queue)
            queue.finish()
        except cl.Error as error:
            raise driver_error(error, "map memory", where=f"device {stream.engine.device}") from None
    return native.host_address
