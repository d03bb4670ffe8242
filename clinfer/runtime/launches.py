"""Kernels with their work sizes, launched one behind the other, again and again, at the least cost of the host.

Where the package was installed with a C compiler at hand, `launch_loop.c` is the loop; else it is Python's, with the
same results.
"""
from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from clinfer.base.errors import ClinferError
from clinfer.runtime import driver
from clinfer.runtime.kernel import Kernel

if TYPE_CHECKING:
    from clinfer.runtime.megakernels import Request
    from clinfer.runtime.staged_launches import StagedLaunches

_LARGEST_SIZE = 2**63 - 1


class WorkSize:
    """Global and local size of a launch, in the form that the driver takes; make it once, launch it often.

    `local_size` None leaves the choice to the driver; given, it must divide the global size. A global size
    of zero is allowed and launches nothing.
    """

    __slots__ = ("dims", "global_array", "global_size", "is_empty", "local_array", "local_size")

    def __init__(self, global_size: Sequence[int], local_size: Sequence[int] | None = None) -> None:
        self.global_size = total = tuple(global_size)
        self.local_size = local = tuple(local_size) if local_size is not None else None
        self.dims = len(total)
        self.is_empty = 0 in total
        if not (1 <= self.dims <= 3 and 0 <= min(total) <= max(total) <= _LARGEST_SIZE and (
                local is None or _divides(local, total))):
            raise ClinferError("a launch needs one to three dimensions below 2^63, and a local size that divides them",
                               values={"global size": total, "local size": local})
        sizes = _SIZES[self.dims]
        self.global_array = sizes(*total)
        self.local_array = sizes(*local) if local is not None else None

    def __repr__(self) -> str:
        return f"WorkSize({self.global_size}, {self.local_size})"


def _divides(local: tuple[int, ...], total: tuple[int, ...]) -> bool:
    if len(local) != len(total):
        return False
    for size, whole in zip(local, total, strict=True):  # noqa: SIM110
        if size <= 0 or whole % size:
            return False
    return True


_SIZES = tuple(ctypes.c_size_t * dims for dims in range(4))


class PackedLaunches:
    """Launches as `launch_loop.c` reads them: of each that is not empty, where its kernel's handle stands, the number
    of its dimensions, and its sizes. They stay where they are as long as `steps` are there."""

    __slots__ = ("_array", "address", "count", "steps")

    def __init__(self, launches: Sequence[tuple[Kernel, WorkSize]]) -> None:
        self.steps = [step for step in launches if not step[1].is_empty]
        self._array = ctypes.create_string_buffer(_PACKED.size * len(self.steps))
        for position, step in enumerate(self.steps):
            self._pack(position, step)
        self.address = ctypes.c_void_p(ctypes.addressof(self._array))
        self.count = ctypes.c_size_t(len(self.steps))

    def exchange(self, position: int, launch: tuple[Kernel, WorkSize]) -> None:
        """Put another launch, which is not empty, in the place of one."""
        self._pack(position, launch)
        self.steps[position] = launch

    def _pack(self, position: int, launch: tuple[Kernel, WorkSize]) -> None:
        kernel, work = launch
        local = work.local_array
        _PACKED.pack_into(self._array, position * _PACKED.size, _place(kernel.handle), work.dims,
                          _place(work.global_array), 0 if local is None else _place(local))


_PACKED = struct.Struct("PNPP")
_place = ctypes.addressof


class Launches(list[tuple[Kernel, WorkSize]]):
    """Kernels and work sizes, in order; once they are launched, they are changed by `exchange` alone."""

    __slots__ = ("_packed", "_was_asked", "again", "request", "staged")

    def __init__(self) -> None:
        super().__init__()
        self.again = 0
        """How often the same kernels were launched one by one."""
        self.request: Request | None = None
        self.staged: StagedLaunches | None = None
        """The same as stages of a megakernel (`megakernels.py`)."""
        self._packed: PackedLaunches | None = None
        self._was_asked = False

    @property
    def packed(self) -> PackedLaunches | None:
        """The same for the loop in C, from the second time on: what is launched once is not worth it."""
        if self._packed is None and self._was_asked:
            self._packed = PackedLaunches(self)
        self._was_asked = True
        return self._packed

    def exchange(self, position: int, launch: tuple[Kernel, WorkSize]) -> None:
        """Put another launch in the place of one; those given before must have been launched."""
        if launch[0] is not self[position][0]:
            self.again, self.request, self.staged = 0, None, None
        elif self.staged is not None:
            self.staged.changed.add(position)
        self[position] = launch
        packed = self._packed
        if packed is not None and (launch[1].is_empty or len(packed.steps) != len(self)):
            self._packed = None
        elif packed is not None:
            packed.exchange(position, launch)


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

    def __call__(self, launches: PackedLaunches) -> tuple[int, int]:
        """Launch all; a status that is not 0 with the number of the launch that gave it, behind which none was."""
        status = self._function(self._enqueue, self._queue, launches.address, launches.count,
                                ctypes.byref(self._failed))
        return status, self._failed.value


@cache
def _loop_in_c() -> Callable[..., int] | None:
    found = find_spec("clinfer.runtime._launch_loop")
    if found is None or found.origin is None:
        return None
    try:
        function = ctypes.CDLL(found.origin).clinfer_launch_all
    except (OSError, AttributeError):
        return None
    function.restype = ctypes.c_int
    return function
