"""A kernel and its arguments."""
from __future__ import annotations

import weakref

from clinfer.base.errors import ClinferError
from clinfer.runtime import driver
from clinfer.runtime.memory import Memory
from clinfer.runtime.program import Program
from clinfer.runtime.status import driver_error


class Kernel:
    """One kernel object. Arguments stay set from launch to launch; not safe to share between threads.

    It keeps the memories that are set as arguments alive, because OpenCL does not.
    """

    def __init__(self, program: Program, entry: str) -> None:
        self.program = program
        self.entry = entry
        pointer, status = driver.create_kernel(program.cl_program.int_ptr, entry)
        if not pointer:
            raise ClinferError(f"the program has no usable kernel {entry}", where=f"device {program.device}",
                               values={"status": driver_error(status, "create it").what,
                                       "kernels": ", ".join(program.kernel_names)})
        self.handle = driver.HANDLE(pointer)
        weakref.finalize(self, driver.release_kernel, pointer).atexit = False
        self._memories: dict[int, Memory] = {}

    def set_bytes(self, index: int, raw: bytes) -> None:
        """Set a by-value argument (scalar or struct) to exactly these bytes; they are copied."""
        status = driver.set_kernel_arg(self.handle, index, driver.size_of(len(raw)), raw)
        if status:
            raise self._refused(status, index, len(raw))

    def set_buffer(self, index: int, memory: Memory) -> None:
        """Set a buffer argument; the kernel refers to `memory` until another one takes its place."""
        status = memory.native.set_argument(self.handle, index)
        if status:
            raise self._refused(status, index, memory.nbytes)
        self._memories[index] = memory

    def forget_buffer(self, index: int) -> None:
        """Let go of the memory set as an argument; another must be set before the next launch."""
        self._memories.pop(index, None)

    def forget_buffers(self) -> None:
        """Let go of the memories set as arguments; those that are not kept by others must be set anew before the
        next launch."""
        self._memories.clear()

    def set_local(self, index: int, nbytes: int) -> None:
        """Set the size of a `__local` argument."""
        status = driver.set_kernel_arg(self.handle, index, driver.size_of(nbytes), None)
        if status:
            raise self._refused(status, index, nbytes)

    def _refused(self, error: int, index: int, nbytes: int) -> ClinferError:
        return driver_error(error, f"set argument {index} of kernel {self.entry}",
                            where=f"device {self.program.device}", values={"bytes": nbytes})

    def __repr__(self) -> str:
        return f"Kernel({self.entry})"
