"""Kernels with their work sizes, launched one behind the other, again and again, at the least cost of the host.

Where the package was installed with a C compiler at hand, `launch_loop.c` is the loop; else it is Python's, with the
same results.
"""
from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from importlib.util import find_spec
from operator import mod
from typing import TYPE_CHECKING, Any

from clinfer.base.errors import ClinferError
from clinfer.runtime import driver
from clinfer.runtime.kernel import Kernel

if TYPE_CHECKING:
    from clinfer.runtime.megakernels import Request
    from clinfer.runtime.staged_launches import StagedLaunches

_WORD = struct.calcsize("N")
_SIZES = struct.Struct("7N")
PACK_SIZES = {dims: partial(struct.Struct(f"N{dims}N{(3 - dims) * _WORD}x{dims}N{(3 - dims) * _WORD}x").pack, dims)
              for dims in (1, 2, 3)}
"""By the number of dimensions what makes the bytes of a work size of the global sizes and the local ones or zeros."""
_new = bytes.__new__
_END = 1 << 63
_ANY_LOCAL = {dims: (0,) * dims for dims in (1, 2, 3)}


class WorkSize(bytes):
    """Global and local size of a launch as `launch_loop.c` reads them: the number of dimensions, and three sizes each.

    `local_size` None leaves the choice to the driver (zeros); given, it must divide the global size. A global size of
    zero is allowed and launches nothing.
    """

    __slots__ = ()

    def __new__(cls, global_size: Sequence[int], local_size: Sequence[int] | None = None) -> WorkSize:
        dims = len(global_size)
        try:
            packed = PACK_SIZES[dims](*global_size, *(local_size or _ANY_LOCAL[dims]))
            if max(global_size) < _END and (local_size is None or not any(map(mod, global_size, local_size))):
                return _new(cls, packed)
        except (struct.error, LookupError, ArithmeticError):
            pass
        raise ClinferError("a launch needs one to three dimensions below 2^63, and a local size that divides them",
                           values={"global size": tuple(global_size),
                                   "local size": None if local_size is None else tuple(local_size)})

    @property
    def global_size(self) -> tuple[int, ...]:
        dims, *sizes = _SIZES.unpack(self)
        return tuple(sizes[:dims])

    @property
    def local_size(self) -> tuple[int, ...] | None:
        dims, *sizes = _SIZES.unpack(self)
        return tuple(sizes[3:3 + dims]) if sizes[3] else None

    @property
    def is_empty(self) -> bool:
        """Whether it launches nothing."""
        return 0 in self.global_size

    def __repr__(self) -> str:
        return f"WorkSize({self.global_size}, {self.local_size})"


@lru_cache(maxsize=4096)
def arguments_of(work: WorkSize) -> tuple[int, None, bytes, bytes | None] | None:
    """Dimensions, offset, global and local size as clEnqueueNDRangeKernel takes them; None: there is nothing to do."""
    if work.is_empty:
        return None
    return (len(work.global_size), None, bytes(work[_WORD:4 * _WORD]),
            None if work.local_size is None else bytes(work[4 * _WORD:]))


class Launches(list[tuple[Kernel, WorkSize]]):
    """Kernels and work sizes, in order; once they are launched, they are changed by `exchange` alone."""

    __slots__ = ("_packed", "again", "request", "staged")

    def __init__(self) -> None:
        super().__init__()
        self.again = 0
        """How often the same kernels were launched one by one."""
        self.request: Request | None = None
        self.staged: StagedLaunches | None = None
        """The same as stages of a megakernel (`megakernels.py`)."""
        self._packed: ctypes.Array[ctypes.c_char] | None = None

    @property
    def packed(self) -> ctypes.Array[ctypes.c_char]:
        """The same for the loop in C: of each launch where its kernel's handle stands, and its work size."""
        if self._packed is None:
            self._packed = ctypes.create_string_buffer(_PACKED_BYTES * len(self))
            for position, (kernel, work) in enumerate(self):
                _pack_launch(self._packed, position * _PACKED_BYTES, _place(kernel.handle), work)
        return self._packed

    def exchange(self, position: int, launch: tuple[Kernel, WorkSize]) -> None:
        """Put another launch in the place of one; those given before must have been launched."""
        kernel, work = launch
        before, size = self[position]
        packed = self._packed
        if kernel is before:
            if work == size:
                return
            if self.staged is not None:
                self.staged.resized.add(position)
            if packed is not None:
                _pack_work(packed, position * _PACKED_BYTES + _WORD, work)
        else:
            self.again, self.request, self.staged = 0, None, None
            if packed is not None:
                _pack_launch(packed, position * _PACKED_BYTES, _place(kernel.handle), work)
        self[position] = launch


_PACKED = struct.Struct(f"P{_SIZES.size}s")
_PACKED_BYTES = _PACKED.size
_pack_launch = _PACKED.pack_into
_pack_work = struct.Struct(f"{_SIZES.size}s").pack_into
_place = ctypes.addressof


class LaunchLoop:
    """The loop in C around a driver's function, on one queue."""

    __slots__ = ("_enqueue", "_failed", "_function", "_queue")

    def __init__(self, function: Callable[..., int], enqueue: ctypes.c_void_p, queue: driver.HANDLE) -> None:
        self._function = function
        self._enqueue = enqueue
        self._queue = queue
        self._failed = ctypes.c_size_t()

    @classmethod
    def around(cls, enqueue: Callable[..., Any], queue: driver.HANDLE) -> LaunchLoop | None:
        """The loop around clEnqueueNDRangeKernel; None if it was not built, or the function is none of a library."""
        function = _loop_in_c()
        if function is None:
            return None
        try:
            return cls(function, ctypes.cast(enqueue, ctypes.c_void_p), queue)  # type: ignore[arg-type]
        except (TypeError, ctypes.ArgumentError):
            return None

    def __call__(self, launches: Launches) -> tuple[int, int]:
        """Launch all that are not empty; a status that is not 0 with the number of the launch that gave it, behind
        which none was."""
        status = self._function(self._enqueue, self._queue, launches.packed, ctypes.c_size_t(len(launches)),
                                ctypes.byref(self._failed))
        return status, self._failed.value


@cache
def _loop_in_c() -> Callable[..., int] | None:
    found = find_spec("clinfer.runtime._launch_loop")
    if found is None or found.origin is None:
        return None
    try:
        function = ctypes.CDLL(found.origin).clinfer_launch_each
    except (OSError, AttributeError):
        return None
    function.restype = ctypes.c_int
    return function
