"""Where memories lie for kernels. OpenCL does not tell; a kernel does."""
from __future__ import annotations

import struct
import threading
from typing import TYPE_CHECKING

from clinfer.base.errors import ClinferError
from clinfer.runtime.memory import Memory, NativeBuffer, NativePointer

if TYPE_CHECKING:
    from clinfer.runtime.engine import Engine

_SOURCE = "kernel void address_of(global uchar* memory, global ulong* found) { *found = (ulong)memory; }"


class DeviceAddresses:
    """Addresses of an engine's memories, each of which is asked for once. A buffer must be kept as long as its address
    is used. Safe from several threads."""

    def __init__(self, engine: Engine) -> None:
        self._lock = threading.Lock()
        # A queue of its own, so that nothing is waited for but the answer.
        self._stream = engine.create_stream()
        self._kernel = engine.create_kernel(engine.build_program(_SOURCE), "address_of")
        self._found = engine.allocate_bytes(8, "an address")
        self._kernel.set_buffer(1, self._found)

    def of(self, memory: Memory) -> int:
        """The address of a memory's first byte; ClinferError for an image, which has none, and once it was released."""
        native = memory.native
        if isinstance(native, NativePointer):
            return native.address
        whole, offset = memory.origin
        if not isinstance(whole.native, NativeBuffer):
            raise ClinferError("an image has no address", where="memory", values={"memory": memory})
        if whole.native.address is None:
            whole.native.address = self._ask(memory) - offset
        return whole.native.address + offset

    def _ask(self, memory: Memory) -> int:
        with self._lock:
            self._kernel.set_buffer(0, memory)
            self._stream.enqueue(self._kernel, (1,))
            address, = struct.unpack("<Q", self._stream.read(self._found, 8).tobytes())
            self._kernel.forget_buffer(0)
        return int(address)
