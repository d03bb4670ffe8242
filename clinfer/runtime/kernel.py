"""A kernel and its arguments."""
from __future__ import annotations

import ctypes
from collections.abc import Sequence

from clinfer.base.errors import ClinferError
from clinfer.runtime import driver
from clinfer.runtime.memory import Memory, NativePointer
from clinfer.runtime.program import Program
from clinfer.runtime.stage_image import StageImage
from clinfer.runtime.status import driver_error


class _Header(ctypes.Structure):
    _fields_ = [("kernel", ctypes.c_void_p), *((name, ctypes.c_size_t) for name in ("index", "nbytes", "room")),
                ("image", ctypes.c_void_p), ("place", ctypes.c_size_t)]


class ArgumentBlock:
    """What a kernel has as a by-value argument, in memory that `launch_loop.c` reads and writes, and in the table of
    stages in which it stands."""

    __slots__ = ("_header", "_image", "_memory", "address", "index")

    def __init__(self, handle: driver.KernelHandle, index: int, room: int) -> None:
        self._memory = ctypes.create_string_buffer(ctypes.sizeof(_Header) + room)
        self._header = _Header.from_buffer(self._memory)
        self._header.kernel, self._header.index, self._header.room = ctypes.addressof(handle), index, room
        self.address = ctypes.addressof(self._memory)
        self.index = index
        self._image: StageImage | None = None

    def get(self) -> bytes | None:
        """The bytes; None: nothing is known of them."""
        nbytes = self._header.nbytes
        return ctypes.string_at(self.address + ctypes.sizeof(_Header), nbytes) if nbytes else None

    def take(self) -> bytes | None:
        """The bytes, of which nothing is known from now on."""
        present = self.get()
        self._header.nbytes = 0
        return present

    def put(self, raw: bytes) -> None:
        """These are the bytes; of more than there is room for nothing is known."""
        if len(raw) <= self._header.room:
            ctypes.memmove(self.address + ctypes.sizeof(_Header), raw, len(raw))
            self._header.nbytes = len(raw)
        if self._image is not None:
            self._image.put(self._header.place, raw)

    def stand_in(self, image: StageImage, place: int) -> None:
        """Stand in a table of stages, from a place on, and in no other."""
        self._image, self._header.image, self._header.place = image, image.address, place
        present = self.get()
        if present is not None:
            image.put(place, present)


class Kernel:
    """One kernel object. Arguments stay set from launch to launch; not safe to share between threads.

    It keeps the memories that are set as arguments alive, because OpenCL does not; `held` has those of buffers, by
    index. `is_plain`: whether to set one is to call the driver and no more. `only_read`: the buffer arguments that it
    is known not to write to.
    """

    __slots__ = ("__weakref__", "_block", "_changes", "_number", "_pointers", "_values", "entry", "handle", "held",
                 "is_plain", "only_read", "program")

    def __init__(self, program: Program, entry: str, only_read: frozenset[int] = frozenset()) -> None:
        self.program = program
        self.entry = entry
        self.only_read = only_read
        self._values: dict[int, bytes] = {}
        self.held: dict[int, Memory] = {}
        self.is_plain = True
        self._pointers: set[int] = set()
        self._changes: dict[tuple[int, int], bytes | Memory | None] | None = None
        self._number = 0
        self._block: ArgumentBlock | None = None
        self._create()

    def _create(self) -> None:
        pointer, status = driver.create_kernel(self.program.cl_program.int_ptr, self.entry)
        if not pointer:
            raise ClinferError(f"the program has no usable kernel {self.entry}", where=f"device {self.program.device}",
                               values={"status": driver_error(status, "create it").what,
                                       "kernels": ", ".join(self.program.kernel_names)})
        self.handle = pointer

    def set_bytes(self, index: int, raw: bytes) -> None:
        """Set a by-value argument (scalar or struct) to exactly these bytes, unless it is that; they are copied."""
        # Nothing is known of it while it is being changed.
        values = self._values
        if values.pop(index, None) != raw:
            status = driver.set_kernel_arg(self.handle, index, driver.size_of(len(raw)), raw)
            if status:
                raise self._refused(status, index, len(raw))
            changes = self._changes
            if changes is not None:
                changes[self._number, index] = raw
        values[index] = raw

    def keep_block(self, index: int, room: int) -> int:
        """Keep the by-value argument of that index, of at most so many bytes, where `launch_loop.c` sets it too; the
        address."""
        self._block = ArgumentBlock(self.handle, index, room)
        return self._block.address

    def set_block(self, raw: bytes) -> None:
        """Set the argument that is kept, unless it is that."""
        block = self._block
        assert block is not None
        present = block.take()
        if present != raw:
            status = driver.set_kernel_arg(self.handle, block.index, driver.size_of(len(raw)), raw)
            if status:
                raise self._refused(status, block.index, len(raw))
        block.put(raw)

    def show_block(self, image: StageImage, places: Sequence[int]) -> int | None:
        """Have the argument that is kept in a table of stages, too, at the place of its index; the index, None if none
        is kept."""
        if self._block is None:
            return None
        self._block.stand_in(image, places[self._block.index])
        return self._block.index

    def refused_block(self, error: int, nbytes: int) -> ClinferError:
        """The error for a status that setting the argument that is kept gave."""
        assert self._block is not None
        return self._refused(error, self._block.index, nbytes)

    def set_buffer(self, index: int, memory: Memory) -> None:
        """Set a buffer argument, unless it is that; the kernel refers to `memory` until another one takes its place."""
        # Nothing is known of it while it is being changed.
        native, held = memory.native, self.held.pop(index, None)
        if held is None or not held.shares_buffer(memory):
            if isinstance(native, NativePointer):
                self._pointers.add(index)
                self.is_plain = False
            elif index in self._pointers:
                self._renew()
            status = native.set_argument(self.handle, index)
            if status:
                raise self._refused(status, index, memory.nbytes)
            if self._changes is not None:
                self._changes[self._number, index] = memory
        self.held[index] = memory

    def _renew(self) -> None:
        """Go on with a new kernel object: where a pointer was, NVIDIA's driver accepts no buffer any more, and then
        refuses the launch. Its handle stays at its address (`Launches.packed`)."""
        previous = self.handle
        self._create()
        previous.value, self.handle.value, self.handle = self.handle.value, previous.value, previous
        self._pointers.clear()
        self.is_plain = self._changes is None
        memories, values = self.held.copy(), self._values
        self.held.clear()
        self._values = {}
        for index, raw in values.items():
            self.set_bytes(index, raw)
        block = None if self._block is None else self._block.take()
        if block is not None:
            self.set_block(block)
        for index, memory in memories.items():
            if not memory.is_released:
                self.set_buffer(index, memory)

    def forget_buffer(self, index: int) -> None:
        """Let go of the memory set as an argument; another must be set before the next launch."""
        self.held.pop(index, None)
        if self._changes is not None:
            self._changes[self._number, index] = None

    def forget_buffers(self) -> None:
        """Let go of the memories set as arguments; those that are not kept by others must be set anew before the
        next launch."""
        if self._changes is not None:
            self._changes.update(dict.fromkeys([(self._number, index) for index in self.held]))
        self.held.clear()

    def note_changes(self, changes: dict[tuple[int, int], bytes | Memory | None], number: int) -> None:
        """Note in `changes` what arguments are from now on, by (number, index), as soon as they are others, but for the
        one that is kept; None for one that is let go of."""
        self._changes, self._number, self.is_plain = changes, number, False

    def argument(self, index: int) -> bytes | Memory | None:
        """What an argument is at present; None: it was never set, or let go of."""
        if self._block is not None and index == self._block.index:
            return self._block.get()
        return self._values.get(index) or self.held.get(index)

    def memories(self) -> tuple[Memory, ...]:
        """The memories that are set as arguments."""
        return tuple(self.held.values())

    def _refused(self, error: int, index: int, nbytes: int) -> ClinferError:
        return driver_error(error, f"set argument {index} of kernel {self.entry}",
                            where=f"device {self.program.device}", values={"bytes": nbytes})

    def __repr__(self) -> str:
        return f"Kernel({self.entry})"
