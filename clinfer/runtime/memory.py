"""Device memory and the tensors that are seen in it."""
from __future__ import annotations

import struct
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

import pyopencl as cl

from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout

if TYPE_CHECKING:
    from clinfer.runtime.engine import Engine


class Allocation:
    """One buffer. `on_free` runs once: when the buffer is freed, or when nobody refers to it any more.

    A buffer that somebody else owns comes without `on_free` and is only let go of.
    """

    __slots__ = ("__weakref__", "_finalizer", "argument", "cl_buffer", "nbytes")

    def __init__(self, cl_buffer: cl.Buffer, nbytes: int, on_free: Callable[[], None] | None = None) -> None:
        self.cl_buffer: cl.Buffer | None = cl_buffer
        self.nbytes = nbytes
        self.argument: bytes | None = struct.pack("P", cl_buffer.int_ptr)
        self._finalizer = weakref.finalize(self, on_free) if on_free else None
        if self._finalizer:
            self._finalizer.atexit = False

    def free(self) -> None:
        """Give the buffer back now; again is harmless."""
        buffer, self.cl_buffer, self.argument = self.cl_buffer, None, None
        if buffer is not None and self._finalizer:
            buffer.release()
            self._finalizer()


class Memory:
    """A tensor in device memory (with a layout), or plain bytes (without).

    Several memories may share one allocation (`reinterpret`). The allocation is freed when the last of
    them is collected, or at once by `release()`.
    """

    __slots__ = ("__weakref__", "_allocation", "engine", "layout", "nbytes")

    def __init__(self, engine: Engine, allocation: Allocation, layout: Layout | None = None) -> None:
        self.engine = engine
        self.layout = layout
        self.nbytes = allocation.nbytes if layout is None else layout.byte_size
        self._allocation = allocation
        if self.nbytes > allocation.nbytes:
            raise ClinferError("a tensor does not fit in its memory",
                               values={"layout": layout, "bytes needed": self.nbytes,
                                       "bytes allocated": allocation.nbytes})

    @property
    def capacity(self) -> int:
        """Bytes of the whole allocation, at least `nbytes`."""
        return self._allocation.nbytes

    @property
    def allocation_type(self) -> str:
        return "cl_mem"

    @property
    def is_released(self) -> bool:
        return self._allocation.cl_buffer is None

    @property
    def cl_buffer(self) -> cl.Buffer:
        """The OpenCL buffer; an error once it was released."""
        buffer = self._allocation.cl_buffer
        if buffer is None:
            raise self._released()
        return buffer

    @property
    def argument(self) -> bytes:
        """The raw kernel argument that stands for this buffer; an error once it was released."""
        raw = self._allocation.argument
        if raw is None:
            raise self._released()
        return raw

    def reinterpret(self, layout: Layout) -> Memory:
        """The same bytes seen as another layout, which must fit in `capacity`."""
        return Memory(self.engine, self._allocation, layout)

    def shares_buffer(self, other: Memory) -> bool:
        """Whether both see the same allocation."""
        return self._allocation is other._allocation

    def release(self) -> None:
        """Free the buffer now, for every memory that shares it.

        Work already enqueued is unharmed. Kernels that had it as an argument must be given another before
        their next launch.
        """
        self._allocation.free()

    def _released(self) -> ClinferError:
        return ClinferError("this memory was released", values={"layout": self.layout, "bytes": self.nbytes})
