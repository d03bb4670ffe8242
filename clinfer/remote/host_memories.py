"""Host tensors that the device reaches itself: which memory stands behind an array, so that nothing is copied."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Memory, NativeImage, memory_over
from clinfer.runtime.memory_types import IN_PLACE_ALIGNMENT
from clinfer.runtime.pointers import view_of

Span: TypeAlias = tuple[int, int]
"""Addresses of the host: (first byte, byte behind the last)."""

_SMALL_BYTES = 1 << 18
"""So much is copied in less time than a buffer over it and other arguments of kernels take (Intel's runtime)."""
_memories: WeakValueDictionary[int, Memory] = WeakValueDictionary()
_elsewhere: WeakKeyDictionary[Memory, dict[int, Memory]] = WeakKeyDictionary()
"""Memories over the bytes of others, by these and the handle of the context in which they are."""


def reaches(engine: Engine, memory: Memory) -> bool:
    """Whether an engine has a memory of its own context, or can have one over its bytes (`memory_for`): in another
    context of ours on the same device, whose buffers lie in the host's memory."""
    theirs = memory.engine
    return _share_context(theirs, engine) or (
        theirs.is_own and engine.is_own and theirs.device == engine.device and engine.capabilities.buffers_in_place
        and not isinstance(memory.native, NativeImage))


def memory_for(engine: Engine, memory: Memory) -> Memory | None:
    """What the kernels of an engine are given for a memory that it reaches: itself, or a buffer over the same bytes,
    which keeps nothing; None if the driver refuses that."""
    if _share_context(memory.engine, engine):
        return memory
    handle, known = engine.cl_context.int_ptr, _elsewhere.setdefault(memory, {})
    if handle not in known:
        address = memory.engine.host_address(memory)
        found = None if address % IN_PLACE_ALIGNMENT else memory_over(engine, address, max(memory.capacity, 1))
        if found is None:
            return None
        known[handle] = found
    return known[handle]


def _share_context(one: Engine, other: Engine) -> bool:
    return one is other or one.cl_context.int_ptr == other.cl_context.int_ptr


def units_in(memory: Memory) -> np.ndarray:
    """The bytes of a memory that the host sees, as an array that keeps the memory, and by which it is found."""
    _memories[memory.address] = memory
    return view_of(memory.address, memory.nbytes, memory)


def span_of(units: np.ndarray) -> Span:
    """Where a contiguous array lies."""
    begin = int(units.ctypes.data)
    return begin, begin + units.nbytes


def overlaps(span: Span, others: Sequence[Span]) -> bool:
    """Whether some bytes are among those of the others."""
    return any(span[0] < end and begin < span[1] for begin, end in others)


class HostPlace:
    """The memory in which one input or output lies on the host, where the device itself can work in it.

    That is memory that was made for it (`units_in`), and on a device whose buffers lie in the host's memory any array,
    but for a small one the first time: to copy that takes less than a buffer over it and other arguments of kernels.
    `reaches_arrays` False leaves the latter out: for inferences that are not waited for, since nothing but the waiting
    keeps an array alive. An array is kept until another one comes or `forget` is called; a memory over it that is still
    among the arguments of a network's kernels is replaced before the next launch.
    """

    def __init__(self, engine: Engine, reaches_arrays: bool) -> None:
        self._engine = engine
        self._reaches_arrays = reaches_arrays and engine.capabilities.buffers_in_place
        self._span: Span | None = None
        self._memory: Memory | None = None
        self._units: np.ndarray | None = None

    def memory(self, units: np.ndarray) -> Memory | None:
        """The memory of an array, at least as large; None if the device cannot work in it."""
        if not (self._reaches_arrays or _memories) or not units.flags.c_contiguous:
            return None
        span = span_of(units)
        is_new = span != self._span
        if is_new:
            self.forget()
            self._span = span
        if self._units is None and units.nbytes:
            self._memory = self._find(units, is_new)
            self._units = None if is_new and self._memory is None else units
        return self._memory

    @property
    def in_use(self) -> object:
        """The array, and the memory over it."""
        return self._units, self._memory

    def leave(self, units: np.ndarray) -> None:
        """Let go of the array, unless it is this one again."""
        if span_of(units) != self._span:
            self.forget()

    def forget(self) -> None:
        """Let go of the array."""
        self._span = self._memory = self._units = None

    def _find(self, units: np.ndarray, is_new: bool) -> Memory | None:
        address = units.ctypes.data
        made = _memories.get(address)
        if made is not None and not made.is_released and units.nbytes <= made.nbytes:
            ours = made.engine.cl_context.int_ptr == self._engine.cl_context.int_ptr
            return made if ours else None
        if not self._reaches_arrays or address % IN_PLACE_ALIGNMENT or (is_new and units.nbytes <= _SMALL_BYTES):
            return None
        return memory_over(self._engine, address, units.nbytes)
