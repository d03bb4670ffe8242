"""A kernel and its arguments."""
from __future__ import annotations

import ctypes
from collections.abc import Sequence

from clinfer.base.errors import ClinferError
from clinfer.runtime import driver
from clinfer.runtime.argument_changes import ArgumentChanges
from clinfer.runtime.memory import Memory, NativePointer
from clinfer.runtime.program import Program
from clinfer.runtime.stage_image import StageImage
from clinfer.runtime.status import driver_error


class _Place(ctypes.Structure):
    _fields_ = [("image", ctypes.c_void_p), ("place", ctypes.c_size_t)]


class _Header(ctypes.Structure):
    _fields_ = [("kernel", ctypes.c_void_p), *((name, ctypes.c_size_t) for name in ("index", "nbytes", "room")),
                ("places", ctypes.c_void_p), ("place_count", ctypes.c_size_t)]


class ArgumentBlock:
    """What a kernel has as a by-value argument, in memory that `launch_loop.c` reads and writes, and in the tables of
    stages in which it stands."""

    __slots__ = ("_header", "_images", "_memory", "_places", "address", "index")

    def __init__(self, handle: driver.KernelHandle, index: int, room: int) -> None:
        self._memory = ctypes.create_string_buffer(ctypes.sizeof(_Header) + room)
        self._header = _Header.from_buffer(self._memory)
        self._header.kernel, self._header.index, self._header.room = ctypes.addressof(handle), index, room
        self.address = ctypes.addressof(self._memory)
        self.index = index
        self._images: list[StageImage] = []
        self._places = [(_Place * 1)()]
        """The last one counts; `launch_loop.c` may still read the one before."""

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
        for image, place in zip(self._images, self._places[-1], strict=False):
            image.put(place.place, raw)

    def stand_in(self, image: StageImage, place: int) -> None:
        """Stand in a table of stages, too, from a place on."""
        number = self._number_of(image)
        if number == len(self._places[-1]):
            self._places.append((_Place * (2 * number))(*self._places[-1]))
        self._places[-1][number] = _Place(image.address, place)
        self._images[number:number + 1] = [image]
        self._header.places = ctypes.addressof(self._places[-1])
        self._header.place_count = len(self._images)
        present = self.get()
        if present is not None:
            image.put(place, present)

    def leave(self, image: StageImage) -> None:
        """Stand in a table no longer, if in it."""
        number = self._number_of(image)
        if number < len(self._images):
            # What is the last one stands twice for a moment, which does no harm.
            self._places[-1][number] = self._places[-1][len(self._images) - 1]
            self._images[number] = self._images[-1]
            self._header.place_count = len(self._images) - 1
            del self._images[-1]

    def _number_of(self, image: StageImage) -> int:
        """The number of a table among those in which it stands; of another one that of the next."""
        return next((number for number, own in enumerate(self._images) if own is image), len(self._images))


class Kernel:
    """One kernel object. Arguments stay set from launch to launch; not safe to share between threads.

    It keeps the memories that are set as arguments alive, because OpenCL does not; `held` has those of buffers, by
    index. `is_plain`: whether to set one is to call the driver and no more. `only_read`: the buffer arguments that it
    is known not to write to.
    """

    __slots__ = ("__weakref__", "_block", "_pointers", "_values", "_watched", "entry", "handle", "held", "is_plain",
                 "only_read", "program")

    def __init__(self, program: Program, entry: str, only_read: frozenset[int] = frozenset()) -> None:
        self.program = program
        self.entry = entry
        self.only_read = only_read
        self._values: dict[int, bytes] = {}
        self.held: dict[int, Memory] = {}
        self.is_plain = True
        self._pointers: set[int] = set()
        self._watched: list[tuple[ArgumentChanges, int]] = []
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
            self._note(index, raw)
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
            self._note(index, memory)
        self.held[index] = memory

    def restore_buffer(self, index: int) -> None:
        """Set a buffer argument to what is known of it, after somebody else set it; of memory that was released nothing
        is known any more."""
        memory = self.held.pop(index, None)
        if memory is not None and not memory.is_released:
            status = memory.native.set_argument(self.handle, index)
            if status:
                raise self._refused(status, index, memory.nbytes)
            self.held[index] = memory

    def _renew(self) -> None:
        """Go on with a new kernel object: where a pointer was, NVIDIA's driver accepts no buffer any more, and then
        refuses the launch. Its handle stays at its address (`Launches.packed`)."""
        previous = self.handle
        self._create()
        previous.value, self.handle.value, self.handle = self.handle.value, previous.value, previous
        self._pointers.clear()
        self.is_plain = not self._watched
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
        self._note(index, None)

    def forget_buffers(self) -> None:
        """Let go of the memories set as arguments; those that are not kept by others must be set anew before the
        next launch."""
        for index in self.held:
            self._note(index, None)
        self.held.clear()

    def note_changes(self, changes: ArgumentChanges, number: int) -> None:
        """Note in `changes`, too, what arguments are from now on, by (number, index), as soon as they are others, but
        for the one that is kept; None for one that is let go of."""
        self.is_plain = False
        self._watched.append((changes, number))

    def leave(self, changes: ArgumentChanges, image: StageImage) -> None:
        """Note no changes there any longer, and have no argument in that table of stages."""
        self._watched = [watched for watched in self._watched if watched[0] is not changes]
        self.is_plain = not self._watched and not self._pointers
        if self._block is not None:
            self._block.leave(image)

    def _note(self, index: int, value: bytes | Memory | None) -> None:
        for changes, number in self._watched:
            changes.note((number, index), value)

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
