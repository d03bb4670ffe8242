"""Kernels with their work sizes, launched one behind the other, again and again, at the least cost of the host.

Where the package was installed with a C compiler at hand, `launch_loop.c` launches and exchanges them; else Python
does, with the same results.
"""
from __future__ import annotations

import ctypes
import struct
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache, partial
from itertools import compress
from operator import mod
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.runtime import driver
from clinfer.runtime.argument_changes import LeftBuffers
from clinfer.runtime.extensions import function_of
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


class KernelTable(list[Kernel]):
    """Kernels by number, of which each has one argument block at most."""

    __slots__ = ("_blocks",)

    def __init__(self) -> None:
        super().__init__()
        self._blocks = array("Q")

    def add(self, kernel: Kernel, index: int, room: int) -> None:
        """Add a kernel, whose argument of that index is its block, of at most so many bytes."""
        self._blocks.append(kernel.keep_block(index, room))
        self.append(kernel)

    def replace(self, number: int, other: int) -> None:
        """Let a number stand for the kernel of another one."""
        self[number], self._blocks[number] = self[other], self._blocks[other]

    @property
    def blocks(self) -> int:
        """Where the addresses of the blocks are."""
        return self._blocks.buffer_info()[0]


class Launches(Sequence[tuple[Kernel, WorkSize]]):
    """Kernels and work sizes, in order, as `launch_loop.c` has them."""

    __slots__ = ("_behind", "_kernels", "_packed", "again", "left", "planned", "request", "staged")

    def __init__(self, count: int = 0, left: LeftBuffers | None = None) -> None:
        """Of so many launches, which are to be told by `become`."""
        self.again = 0
        """How often the same kernels were launched one by one."""
        self.request: Request | None = None
        self.staged: StagedLaunches | None = None
        """The same as stages of a megakernel (`megakernels.py`)."""
        self.planned: PlannedLaunches | None = None
        """Those that these are, if nothing was exchanged since."""
        self.left = [] if left is None else left
        """What stages no longer hold; launches that take one another's place have one in common."""
        self._behind: tuple[PlannedLaunches, int, KernelTable] | None = None
        """What these are to become once somebody asks."""
        self._packed = ctypes.create_string_buffer(_PACKED_BYTES * count)
        self._kernels: list[Kernel] = [None] * count  # type: ignore[list-item]

    def __len__(self) -> int:
        return len(self._kernels)

    @overload
    def __getitem__(self, index: int) -> tuple[Kernel, WorkSize]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[Kernel, WorkSize]]: ...
    def __getitem__(self, index: int | slice) -> tuple[Kernel, WorkSize] | list[tuple[Kernel, WorkSize]]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        packed, first = self.packed, index % len(self._kernels) * _PACKED_BYTES
        return self._kernels[index], _new(WorkSize, ctypes.string_at(ctypes.addressof(packed) + first + _WORD,
                                                                     _SIZES.size))

    @property
    def packed(self) -> ctypes.Array[ctypes.c_char]:
        """Of each launch where its kernel's handle stands, and its work size."""
        self.settle()
        return self._packed

    @property
    def kernels(self) -> Sequence[Kernel]:
        """Those that are launched, in order."""
        return self._kernels

    def extend(self, launches: Iterable[tuple[Kernel, WorkSize]]) -> None:
        """Add launches behind those that there are."""
        launches = tuple(launches)
        self._kernels += [kernel for kernel, _ in launches]
        more = b"".join([_PACKED.pack(_place(kernel.handle), work) for kernel, work in launches])
        self._packed = ctypes.create_string_buffer(self._packed.raw + more, len(self._kernels) * _PACKED_BYTES)

    def exchange(self, position: int, launch: tuple[Kernel, WorkSize]) -> None:
        """Put another launch in the place of one; those given before must have been launched."""
        kernel, work = launch
        before, size = self[position]
        self.planned = None
        if kernel is before:
            if work == size:
                return
            if self.staged is not None:
                self.staged.resized.add(position)
        else:
            self._forget_again()
        self._kernels[position] = kernel
        _PACKED.pack_into(self._packed, position * _PACKED_BYTES, _place(kernel.handle), work)

    def become(self, planned: PlannedLaunches, first: int, kernels: KernelTable) -> None:
        """Be as many of the planned launches, from a first one on, with their argument blocks set; those given before
        must have been launched. Where stages have a table of them, kernels are left alone until somebody asks."""
        self.planned, self._behind = planned, (planned, first, kernels)
        if (self.staged is None or not self.staged.has_table(planned)
                or self._kernels != [*map(kernels.__getitem__, planned.kernels(first, len(self)))]):
            self.settle()

    def settle(self) -> None:
        """Be what `become` left for later."""
        if self._behind is not None:
            behind, self._behind = self._behind, None
            self._take(*behind)

    def _take(self, planned: PlannedLaunches, first: int, kernels: KernelTable) -> None:
        count = len(self._kernels)
        progress, resized = array(SIZE_CODE, (0, 0, 0)), array("B", bytes(count))
        try:
            while progress[_AT] < count:
                status = self._exchange(planned, first, kernels, progress, resized)
                if not status:
                    break
                number, block, work = planned.launch(first + progress[_AT])
                kernel = kernels[number]
                if status != _LEFT_TO_PYTHON:
                    raise kernel.refused_block(status, len(block))
                if block:
                    kernel.set_block(block)
                self.exchange(progress[_AT], (kernel, work))
                progress[_AT] += 1
            if progress[_OTHERS]:
                self._kernels = [*map(kernels.__getitem__, planned.kernels(first, count))]
                self._forget_again()
            self.planned = planned
        except BaseException:
            # Those that were exchanged may have other kernels than are noted, and stages other arguments.
            self._packed, self.planned = ctypes.create_string_buffer(len(self._packed)), None
            self._forget_again()
            raise
        finally:
            if progress[_RESIZED] and self.staged is not None:
                self.staged.resized.update(compress(range(count), resized))

    def _exchange(self, planned: PlannedLaunches, first: int, kernels: KernelTable, progress: array[int],
                  resized: array[int]) -> int:
        """Do it in C, as far as that can; see there."""
        function, set_argument = _exchange_in_c(), driver.set_kernel_arg
        if function is None or not hasattr(set_argument, "argtypes"):
            # There is no compiler, or the function is none of a library.
            return _LEFT_TO_PYTHON
        return function(set_argument, kernels.blocks, planned.address_of(first), planned.blocks, self._packed,
                        len(resized), progress.buffer_info()[0], resized.buffer_info()[0])

    def sizes(self) -> np.ndarray:
        """Of each launch the number of dimensions, three global and three local sizes, as `WorkSize` has them."""
        words = np.frombuffer(memoryview(self.packed), np.uintp).reshape(-1, _PACKED_BYTES // _WORD)
        return words[:, 1:].astype(np.int64)

    def _forget_again(self) -> None:
        self.again, self.request, self.staged = 0, None, None


class PlannedLaunches:
    """Launches as plans have them: records of `PLANNED` in an array of `SIZE_CODE`, and the argument blocks of all of
    them in a row."""

    __slots__ = ("__weakref__", "blocks", "launches")

    def __init__(self, launches: array[int], blocks: bytes) -> None:
        self.launches = launches
        self.blocks = blocks

    def __len__(self) -> int:
        return len(self.launches) // PLANNED_WORDS

    def address_of(self, number: int) -> int:
        """Where the record of a launch is."""
        return self.launches.buffer_info()[0] + number * PLANNED.size

    def launch(self, number: int) -> tuple[int, bytes, WorkSize]:
        """A launch: the number of its kernel, its argument block, its work size."""
        kernel, first, nbytes, work = PLANNED.unpack_from(self.launches, number * PLANNED.size)
        return kernel, self.blocks[first:first + nbytes], _new(WorkSize, work)

    def kernels(self, first: int, count: int) -> list[int]:
        """The numbers of the kernels of some launches."""
        return self.launches[first * PLANNED_WORDS:(first + count) * PLANNED_WORDS:PLANNED_WORDS].tolist()

    def all_kernels(self) -> bytes:
        """The numbers of the kernels of all launches, in a row."""
        return self.launches[::PLANNED_WORDS].tobytes()


_PACKED = struct.Struct(f"P{_SIZES.size}s")
_PACKED_BYTES = _PACKED.size
PLANNED = struct.Struct(f"3N{_SIZES.size}s")
"""The number of a kernel, where its argument block begins, the bytes of that, and the work size."""
PLANNED_WORDS = PLANNED.size // _WORD
SIZE_CODE = next(code for code in "LQI" if array(code).itemsize == _WORD)
"""The type of an array of C's sizes."""
_LEFT_TO_PYTHON = 1
_AT, _OTHERS, _RESIZED = range(3)
"""The parts of `progress` in `launch_loop.c`."""
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
        function = _function_in_c("clinfer_launch_each")
        if function is None:
            return None
        pointer = pointer_of(enqueue)
        return None if pointer is None else cls(function, pointer, queue)

    def __call__(self, launches: Launches) -> tuple[int, int]:
        """Launch all that are not empty; a status that is not 0 with the number of the launch that gave it, behind
        which none was."""
        status = self._function(self._enqueue, self._queue, launches.packed, ctypes.c_size_t(len(launches)),
                                ctypes.byref(self._failed))
        return status, self._failed.value


def pointer_of(function: Callable[..., Any]) -> ctypes.c_void_p | None:
    """A function of a library as C has it; None of any other."""
    try:
        return ctypes.cast(function, ctypes.c_void_p)  # type: ignore[arg-type]
    except (TypeError, ctypes.ArgumentError):
        return None


_function_in_c = partial(function_of, "clinfer.runtime._launch_loop")


@cache
def _exchange_in_c() -> Callable[..., int] | None:
    function: Any = _function_in_c("clinfer_exchange_each")
    if function is not None:
        pointer = ctypes.c_void_p
        function.argtypes = (pointer, pointer, pointer, pointer, pointer, ctypes.c_size_t, pointer, pointer)
    return function
