"""A kernel and its arguments."""
from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import cached_property

import pyopencl as cl

from clinfer.base.errors import ClinferError
from clinfer.runtime import driver
from clinfer.runtime.memory import Memory
from clinfer.runtime.program import Program
from clinfer.runtime.status import driver_error

_SETS_BEFORE_WRAPPING = 8


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
        self._sets_until_wrapping = _SETS_BEFORE_WRAPPING
        self._fast_set: Callable[[int, bytes], None] | None = None

    @cached_property
    def cl_kernel(self) -> cl.Kernel:
        """pyopencl's object for the same kernel; making it takes about 200 us."""
        assert self.handle.value is not None
        return driver.wrap_kernel(self.handle.value)

    def set_bytes(self, index: int, raw: bytes) -> None:
        """Set a by-value argument (scalar or struct) to exactly these bytes; they are copied."""
        if self._fast_set is None:
            self._set_and_count(index, raw)
            return
        try:
            self._fast_set(index, raw)
        except cl.Error as error:
            raise self._refused(error, index, len(raw)) from None

    def set_buffer(self, index: int, memory: Memory) -> None:
        """Set a buffer argument; the kernel refers to `memory` until another one takes its place."""
        self.set_bytes(index, memory.argument)
        self._memories[index] = memory

    def set_local(self, index: int, nbytes: int) -> None:
        """Set the size of a `__local` argument."""
        status = driver.set_kernel_arg(self.handle, index, nbytes, None)
        if status:
            raise self._refused(status, index, nbytes)

    def _set_and_count(self, index: int, raw: bytes) -> None:
        """Set through ctypes (0.6 us); a kernel that is set often earns a `cl_kernel`, which takes 0.1 us."""
        status = driver.set_kernel_arg(self.handle, index, len(raw), raw)
        if status:
            raise self._refused(status, index, len(raw))
        self._sets_until_wrapping -= 1
        if not self._sets_until_wrapping:
            self._fast_set = self.cl_kernel._set_arg_buf

    def _refused(self, error: cl.Error | int, index: int, nbytes: int) -> ClinferError:
        return driver_error(error, f"set argument {index} of kernel {self.entry}",
                            where=f"device {self.program.device}", values={"bytes": nbytes})

    def __repr__(self) -> str:
        return f"Kernel({self.entry})"
