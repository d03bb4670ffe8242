"""Device memory and the tensors that are seen in it."""
from __future__ import annotations

import ctypes
import struct
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyopencl as cl

from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.runtime import driver
from clinfer.runtime.memory_types import HOST_VISIBLE, AllocationType, NativeType
from clinfer.runtime.pointers import PointerCalls, view_of
from clinfer.runtime.status import driver_error

if TYPE_CHECKING:
    from clinfer.runtime.engine import Engine

_IN_PLACE = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
_POINTER_SIZE = driver.size_of(struct.calcsize("P"))


class NativeBuffer:
    """An OpenCL buffer. `address`: where it lies on the device, once somebody has asked (`device_addresses.py`);
    `host_address` likewise where the host sees it (`host_copies.py`)."""

    __slots__ = ("address", "cl_buffer", "host_address", "kind", "raw")

    def __init__(self, cl_buffer: cl.Buffer, kind: NativeType = "cl_mem") -> None:
        self.cl_buffer = cl_buffer
        self.kind = kind
        self.address: int | None = None
        self.host_address: int | None = None
        self.raw = struct.pack("P", cl_buffer.int_ptr)
        """The bytes that are it as a kernel's argument."""

    def set_argument(self, kernel: driver.HANDLE, index: int) -> int:
        """Make it a kernel's argument; the status."""
        return int(driver.set_kernel_arg(kernel, index, _POINTER_SIZE, self.raw))

    def release(self) -> None:
        """Let go of the buffer; commands that were given before keep it."""
        self.cl_buffer.release()


class NativeImage:
    """An OpenCL image, which kernels read through a sampler; its texels have no address."""

    __slots__ = ("cl_image", "kind", "raw")

    def __init__(self, cl_image: cl.Image) -> None:
        self.cl_image = cl_image
        self.kind: NativeType = "image"
        self.raw = struct.pack("P", cl_image.int_ptr)

    def set_argument(self, kernel: driver.HANDLE, index: int) -> int:
        """Make it a kernel's argument; the status."""
        return int(driver.set_kernel_arg(kernel, index, _POINTER_SIZE, self.raw))

    def release(self) -> None:
        """Let go of the image; commands that were given before keep it."""
        self.cl_image.release()


class NativePointer:
    """Memory at an address that both host and kernels may hold, and what deals with it."""

    __slots__ = ("address", "calls", "kind")
    raw = None
    """Setting it as an argument is a call of its own."""

    def __init__(self, address: int, kind: NativeType, calls: PointerCalls) -> None:
        self.address = address
        self.kind = kind
        self.calls = calls

    def set_argument(self, kernel: driver.HANDLE, index: int) -> int:
        """Make it a kernel's argument; the status."""
        return self.calls.set_argument(kernel, index, self.address)

    def release(self) -> None:
        """Nothing: whoever made the pointer frees it."""


class Releases:
    """How often memory was given back in this process before the last who referred to it was gone: while the `count`
    stays, what was there is there. Of two threads one may count for both: memory is gone before it is counted."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


RELEASES = Releases()
Native: TypeAlias = NativeBuffer | NativeImage | NativePointer


class Allocation:
    """One buffer, image or pointer. `on_free` runs once: when it is freed, or when nobody refers to it any more.

    What somebody else owns comes without `on_free` and is only let go of. A part of an allocation keeps the `whole`
    (which is part of no other), in which it begins at `offset`.
    """

    __slots__ = ("__weakref__", "_finalizer", "allocation_type", "native", "native_type", "nbytes", "offset", "parts",
                 "whole")

    def __init__(self, native: Native, nbytes: int, allocation_type: AllocationType = "cl_mem",
                 on_free: Callable[[], None] | None = None, whole: Allocation | None = None, offset: int = 0) -> None:
        self.native: Native | None = native
        self.whole = whole
        self.offset = offset
        self.parts: weakref.WeakSet[Allocation] = weakref.WeakSet()
        self.native_type = native.kind
        self.nbytes = nbytes
        self.allocation_type = allocation_type
        self._finalizer = weakref.finalize(self, on_free) if on_free else None
        if self._finalizer:
            self._finalizer.atexit = False

    @property
    def is_own(self) -> bool:
        """Whether it, or what it is a part of, was allocated here, for host and device to read and write."""
        return (self.whole or self)._finalizer is not None

    def free(self) -> None:
        """Give the memory back now, and that of its parts, which would keep it; again is harmless."""
        for part in list(self.parts):
            part.free()
        native, self.native = self.native, None
        RELEASES.count += native is not None
        if native is not None and (self._finalizer or self.whole):
            native.release()
        if self._finalizer:
            self._finalizer()


def memory_over(engine: Engine, address: int, nbytes: int, layout: Layout | None = None) -> Memory | None:
    """A buffer over memory of the host, which somebody else keeps, for devices with `buffers_in_place`; None if the
    driver refuses. Whether kernels write there is for the caller to know: of buffers that are only to be read Intel's
    CPU runtime makes copies."""
    status = ctypes.c_int()
    handle = driver.create_buffer(engine.cl_context.int_ptr, _IN_PLACE, nbytes, address, ctypes.byref(status))
    if not handle or status.value:
        return None
    buffer = NativeBuffer(cl.MemoryObject.from_int_ptr(handle, False), "host_cl_mem")
    return Memory(engine, Allocation(buffer, nbytes), layout)


def _sub_buffer(whole: cl.Buffer, start: int, nbytes: int) -> cl.Buffer:
    try:
        return whole.get_sub_region(start, max(nbytes, 1))
    except cl.Error as error:
        raise driver_error(error, "use a part of a memory", where="memory",
                           values={"start": start, "bytes": nbytes}) from None


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
    def allocation_type(self) -> AllocationType:
        """What was asked for."""
        return self._allocation.allocation_type

    @property
    def native_type(self) -> NativeType:
        """What stands behind it on this device, see `Engine.native_types`."""
        return self._allocation.native_type

    @property
    def is_host_visible(self) -> bool:
        """Whether there is a `host_view`."""
        return self.native_type in HOST_VISIBLE

    @property
    def is_own(self) -> bool:
        """Whether it was allocated here, and not brought by somebody else."""
        return self._allocation.is_own

    @property
    def is_released(self) -> bool:
        """Whether it, or what it is a part of, was given back."""
        allocation, whole = self._allocation, self._allocation.whole
        return allocation.native is None or (whole is not None and whole.native is None)

    @property
    def pictures(self) -> tuple[Memory, ...]:
        """Of images, one for each picture of a batch; of anything else, itself."""
        return (self,)

    @property
    def origin(self) -> tuple[Allocation, int]:
        """The allocation in which it lies and that is part of no other, and where it begins there."""
        return self._allocation.whole or self._allocation, self._allocation.offset

    @property
    def native(self) -> Native:
        """What commands and kernels work on; an error once it was released."""
        allocation, whole = self._allocation, self._allocation.whole
        native = allocation.native
        if native is None or (whole is not None and whole.native is None):
            raise ClinferError("this memory was released", values={"layout": self.layout, "bytes": self.nbytes})
        return native

    @property
    def cl_buffer(self) -> cl.Buffer:
        """The OpenCL buffer; an error for a pointer or image, and once it was released."""
        native = self.native
        if not isinstance(native, NativeBuffer):
            raise ClinferError("this memory is no OpenCL buffer", where="memory", values={
                "allocation type": self.allocation_type, "native type": self.native_type},
                hint="use its `address` if it is a pointer, or allocate it as cl_mem")
        return native.cl_buffer

    @property
    def address(self) -> int:
        """The pointer; an error for a buffer or image, and once it was released."""
        native = self.native
        if not isinstance(native, NativePointer):
            raise ClinferError("this memory is no pointer", where="memory", values={
                "allocation type": self.allocation_type, "native type": self.native_type},
                hint="use its `cl_buffer`, or `Stream.mapped` to see its contents")
        return native.address

    def host_view(self) -> np.ndarray:
        """The bytes themselves (uint8, `nbytes` of them), without a copy; an error unless `is_host_visible`.

        The host may touch them while no command that uses the memory is unfinished: after `Stream.finish()`, before
        the next launch. The view keeps the memory, but after `release()` it must not be touched any more.
        """
        if not self.is_host_visible:
            raise ClinferError("the host does not see this memory", where="memory", values={
                "allocation type": self.allocation_type, "native type": self.native_type},
                hint="use `Stream.mapped`, or memory of type usm_host or usm_shared on a device where "
                     "`Engine.native_types` has a pointer for it")
        return view_of(self.address, self.nbytes, self._allocation)

    def reinterpret(self, layout: Layout) -> Memory:
        """The same bytes seen as another layout, which must fit in `capacity`."""
        return Memory(self.engine, self._allocation, layout)

    def part(self, offset: int, nbytes: int | None = None) -> Memory:
        """Some of the bytes (None: all behind `offset`, of `capacity`) as a memory of its own.

        `offset` is a multiple of the device's `buffer_alignment`. Parts that overlap must not be in use at the same
        time, unless they are only read. The whole is freed once its parts are gone, too; when it is released, so are
        they. Errors: ClinferError beyond the end, and where the driver refuses.
        """
        size = self.capacity - offset if nbytes is None else nbytes
        if offset < 0 or size < 0 or offset + size > self.capacity:
            raise ClinferError("a part of a memory must lie within it", where="memory", values={
                "offset": offset, "bytes": size, "bytes of memory": self.capacity})
        native, (whole, before) = self.native, self.origin
        start = before + offset
        part: Native
        if isinstance(native, NativePointer):
            part = NativePointer(native.address + offset, native.kind, native.calls)
        elif not isinstance(whole.native, NativeBuffer):
            raise ClinferError("an image has no parts", where="memory", values={"offset": offset, "bytes": size})
        else:
            part = NativeBuffer(_sub_buffer(whole.native.cl_buffer, start, size), native.kind)
        allocation = Allocation(part, size, self.allocation_type, whole=whole, offset=start)
        self._allocation.parts.add(allocation)
        return Memory(self.engine, allocation)

    def shares_buffer(self, other: Memory) -> bool:
        """Whether both see the same allocation."""
        return self._allocation is other._allocation

    def release(self) -> None:
        """Free the memory now, for every memory that shares it.

        Work already enqueued is unharmed: a pointer waits for it. Kernels that had it as an argument must be given
        another before their next launch.
        """
        self._allocation.free()
