"""A kernel and its arguments."""
from __future__ import annotations

from clinfer.base.errors import ClinferError
from clinfer.runtime import driver
from clinfer.runtime.memory import Memory, NativePointer
from clinfer.runtime.program import Program
from clinfer.runtime.status import driver_error


class Kernel:
    """One kernel object. Arguments stay set from launch to launch; not safe to share between threads.

    It keeps the memories that are set as arguments alive, because OpenCL does not. `only_read`: the buffer arguments
    that it is known not to write to.
    """

    __slots__ = ("__weakref__", "_changes", "_memories", "_number", "_pointers", "_values", "entry", "handle",
                 "only_read", "program")

    def __init__(self, program: Program, entry: str, only_read: frozenset[int] = frozenset()) -> None:
        self.program = program
        self.entry = entry
        self.only_read = only_read
        self._values: dict[int, bytes] = {}
        self._memories: dict[int, Memory] = {}
        self._pointers: set[int] = set()
        self._changes: dict[tuple[int, int], bytes | Memory | None] | None = None
        self._number = 0
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

    def set_buffer(self, index: int, memory: Memory) -> None:
        """Set a buffer argument, unless it is that; the kernel refers to `memory` until another one takes its place."""
        # Nothing is known of it while it is being changed.
        native, held = memory.native, self._memories.pop(index, None)
        if held is None or not held.shares_buffer(memory):
            if isinstance(native, NativePointer):
                self._pointers.add(index)
            elif index in self._pointers:
                self._renew()
            status = native.set_argument(self.handle, index)
            if status:
                raise self._refused(status, index, memory.nbytes)
            if self._changes is not None:
                self._changes[self._number, index] = memory
        self._memories[index] = memory

    def _renew(self) -> None:
        """Go on with a new kernel object: where a pointer was, NVIDIA's driver accepts no buffer any more, and then
        refuses the launch. Its handle stays at its address (`Launches.packed`)."""
        previous = self.handle
        self._create()
        previous.value, self.handle.value, self.handle = self.handle.value, previous.value, previous
        self._pointers.clear()
        memories, values = self._memories, self._values
        self._memories, self._values = {}, {}
        for index, raw in values.items():
            self.set_bytes(index, raw)
        for index, memory in memories.items():
            if not memory.is_released:
                self.set_buffer(index, memory)

    def forget_buffer(self, index: int) -> None:
        """Let go of the memory set as an argument; another must be set before the next launch."""
        self._memories.pop(index, None)
        if self._changes is not None:
            self._changes[self._number, index] = None

    def forget_buffers(self) -> None:
        """Let go of the memories set as arguments; those that are not kept by others must be set anew before the
        next launch."""
        if self._changes is not None:
            self._changes.update(dict.fromkeys([(self._number, index) for index in self._memories]))
        self._memories.clear()

    def note_changes(self, changes: dict[tuple[int, int], bytes | Memory | None], number: int) -> None:
        """Note in `changes` what arguments are from now on, by (number, index), as soon as they are others; None for
        one that is let go of."""
        self._changes, self._number = changes, number

    def argument(self, index: int) -> bytes | Memory | None:
        """What an argument is at present; None: it was never set, or let go of."""
        return self._values.get(index) or self._memories.get(index)

    def memories(self) -> tuple[Memory, ...]:
        """The memories that are set as arguments."""
        return tuple(self._memories.values())

    def _refused(self, error: int, index: int, nbytes: int) -> ClinferError:
        return driver_error(error, f"set argument {index} of kernel {self.entry}",
                            where=f"device {self.program.device}", values={"bytes": nbytes})

    def __repr__(self) -> str:
        return f"Kernel({self.entry})"
