"""Where memories lie for kernels. OpenCL does not tell; a kernel does."""
from __future__ import annotations

import struct
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.runtime.memory import Memory, NativeBuffer, NativePointer

if TYPE_CHECKING:
    from clinfer.runtime.engine import Engine

_SOURCE = """
kernel void address_of(global uchar* memory, global ulong* found, const int n) { found[n] = (ulong)memory; }
"""
_AT_ONCE = 64


class DeviceAddresses:
    """Addresses of an engine's memories, each of which is asked for once. A buffer must be kept as long as its address
    is used. Safe from several threads."""

    def __init__(self, engine: Engine) -> None:
        self._lock = threading.Lock()
        # A queue of its own, so that nothing is waited for but the answers.
        self._stream = engine.create_stream()
        self._kernel = engine.create_kernel(engine.build_program(_SOURCE), "address_of")
        self._found = engine.allocate_bytes(8 * _AT_ONCE, "addresses")
        self._kernel.set_buffer(1, self._found)

    def of(self, memories: Iterable[Memory]) -> list[int]:
        """The addresses of the first bytes of memories; ClinferError for an image, which has none, and once one was
        released."""
        memories = [*memories]
        unknown = {id(whole): memory for memory in memories
                   for whole in [_whole(memory)] if whole is not None and whole.address is None}
        for first in range(0, len(unknown), _AT_ONCE):
            self._ask([*unknown.values()][first:first + _AT_ONCE])
        return [*map(_known, memories)]

    def _ask(self, memories: Sequence[Memory]) -> None:
        with self._lock:
            for number, memory in enumerate(memories):
                self._kernel.set_buffer(0, memory)
                self._kernel.set_bytes(2, struct.pack("<i", number))
                self._stream.enqueue(self._kernel, (1,))
            addresses = self._stream.read(self._found, 8 * len(memories)).view(np.uint64).tolist()
            self._kernel.forget_buffer(0)
        for memory, address in zip(memories, addresses, strict=True):
            whole = _whole(memory)
            assert whole is not None
            whole.address = address - memory.origin[1]


def _whole(memory: Memory) -> NativeBuffer | None:
    """The buffer in which a memory lies; None: it is a pointer."""
    if isinstance(memory.native, NativePointer):
        return None
    native = memory.origin[0].native
    if not isinstance(native, NativeBuffer):
        raise ClinferError("an image has no address", where="memory", values={"memory": memory})
    return native


def _known(memory: Memory) -> int:
    whole = _whole(memory)
    if whole is None:
        assert isinstance(memory.native, NativePointer)
        return memory.native.address
    assert whole.address is not None
    return whole.address + memory.origin[1]
