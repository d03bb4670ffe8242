"""Arguments of kernels that are one memory, set together: by one call of `launch_loop.c` where that can do it."""
from __future__ import annotations

import ctypes
from array import array
from collections import deque
from collections.abc import Callable, Collection, Iterator
from functools import cache
from itertools import repeat
from operator import attrgetter
from typing import Any

from clinfer.runtime import driver
from clinfer.runtime.extensions import function_of
from clinfer.runtime.kernel import Kernel
from clinfer.runtime.launches import SIZE_CODE
from clinfer.runtime.memory import Memory

_IS_PLAIN = attrgetter("is_plain")
_do = deque[object](maxlen=0).extend
"""Goes through an iterable for what that does."""


class BufferUses:
    """Buffer arguments, by kernel and index."""

    __slots__ = ("_kernels", "_memories", "_packed", "_positions")

    def __init__(self) -> None:
        self._kernels: list[Kernel] = []
        self._positions: list[int] = []
        self._memories: list[dict[int, Memory]] = []
        self._packed = array(SIZE_CODE)
        """Of each where its kernel's handle stands, and its index."""

    def __iter__(self) -> Iterator[tuple[Kernel, int]]:
        return zip(self._kernels, self._positions, strict=True)

    def add(self, kernel: Kernel, position: int) -> None:
        """Add an argument."""
        self._kernels.append(kernel)
        self._positions.append(position)
        self._memories.append(kernel.held)
        self._packed.extend((ctypes.addressof(kernel.handle), position))

    def drop(self, kernels: Collection[int]) -> None:
        """Forget the arguments of these kernels, by their identities."""
        left = [use for use in self if id(use[0]) not in kernels]
        for row in (self._kernels, self._positions, self._memories, self._packed):
            del row[:]
        for kernel, position in left:
            self.add(kernel, position)

    def set(self, memory: Memory) -> None:
        """Set each, unless it is that; kernels refer to `memory` until another one takes its place."""
        raw, kernels, done = memory.native.raw, self._kernels, 0
        function, set_argument = _set_each_in_c(), driver.set_kernel_arg
        # Where there is no compiler, or the function is none of a library, each is set by itself.
        if function is not None and raw is not None and hasattr(set_argument, "argtypes") and all(
                map(_IS_PLAIN, kernels)):
            # Nothing is known of them while they are being changed.
            _do(map(dict.pop, self._memories, self._positions, repeat(None)))
            done = function(set_argument, self._packed.buffer_info()[0], len(kernels), raw)
            _do(map(dict.__setitem__, self._memories[:done], self._positions, repeat(memory)))
        if done < len(kernels):
            for kernel, position in [*self][done:]:
                kernel.set_buffer(position, memory)


@cache
def _set_each_in_c() -> Callable[..., int] | None:
    function: Any = function_of("clinfer.runtime._launch_loop", "clinfer_set_each")
    if function is not None:
        pointer = ctypes.c_void_p
        function.argtypes, function.restype = (pointer, pointer, ctypes.c_size_t, ctypes.c_char_p), ctypes.c_size_t
    return function
