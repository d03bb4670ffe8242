"""The commands that move bytes between host arrays, buffers and pointers, one driver call for each pair.

They are enqueued without waiting for what came before, and without checks: `Stream` does both. Where a pair has
no call of its own (a buffer and a pointer that the host does not see) `needs_staging` says so.
"""
from __future__ import annotations

import ctypes

import numpy as np
import pyopencl as cl

from clinfer.runtime import driver
from clinfer.runtime.driver import HANDLE, check
from clinfer.runtime.memory import Memory, NativeBuffer, NativePointer


def write(queue: cl.CommandQueue, memory: Memory, offset: int, source: np.ndarray, blocking: bool) -> cl.Event:
    """From a contiguous array, which must stay until the event is complete."""
    native = memory.native
    if not isinstance(native, NativePointer):
        buffer = native.cl_buffer if isinstance(native, NativeBuffer) else memory.cl_buffer
        return cl._cl._enqueue_write_buffer(queue, buffer, source, offset, None, blocking)
    return _copy_with_event(queue, native, blocking, native.address + offset, source.ctypes.data, source.nbytes)


def read(queue: cl.CommandQueue, memory: Memory, offset: int, into: np.ndarray, blocking: bool) -> cl.Event:
    """To a contiguous array, which must stay until the event is complete."""
    native = memory.native
    if not isinstance(native, NativePointer):
        return cl._cl._enqueue_read_buffer(queue, memory.cl_buffer, into, offset, None, blocking)
    return _copy_with_event(queue, native, blocking, into.ctypes.data, native.address + offset, into.nbytes)


def _copy_with_event(queue: cl.CommandQueue, native: NativePointer, blocking: bool, target: int, source: int,
                     nbytes: int) -> cl.Event:
    event = HANDLE()
    check(native.calls.copy(queue.int_ptr, blocking, target, source, nbytes, 0, None, ctypes.addressof(event)))
    return cl.Event.from_int_ptr(event.value, False)


def needs_staging(source: Memory, target: Memory) -> bool:
    """Whether bytes must go through memory that the host sees."""
    if isinstance(source.native, NativePointer) == isinstance(target.native, NativePointer):
        return False
    return not (source.is_host_visible or target.is_host_visible)


def copy(queue: cl.CommandQueue, source: Memory, source_offset: int, target: Memory, target_offset: int,
         nbytes: int) -> None:
    """From memory to memory."""
    one, other = source.native, target.native
    if isinstance(one, NativePointer) and isinstance(other, NativePointer):
        check(one.calls.copy(queue.int_ptr, False, other.address + target_offset, one.address + source_offset,
                             nbytes, 0, None, None))
    elif isinstance(one, NativePointer):
        check(driver.write_buffer(queue.int_ptr, target.cl_buffer.int_ptr, False, target_offset, nbytes,
                                  one.address + source_offset, 0, None, None))
    elif isinstance(other, NativePointer):
        check(driver.read_buffer(queue.int_ptr, source.cl_buffer.int_ptr, False, source_offset, nbytes,
                                 other.address + target_offset, 0, None, None))
    else:
        cl._cl._enqueue_copy_buffer(queue, source.cl_buffer, target.cl_buffer, nbytes, source_offset, target_offset)


def copy_rows(queue: cl.CommandQueue, source: Memory, source_offset: int, source_pitch: int, target: Memory,
              target_offset: int, target_pitch: int, rows: int, nbytes: int) -> None:
    """`nbytes` of each row; the driver has no call for rows of two pointers, so each is a copy of its own."""
    one, other = source.native, target.native
    if isinstance(one, NativePointer) and isinstance(other, NativePointer):
        for row in range(rows):
            copy(queue, source, source_offset + row * source_pitch, target, target_offset + row * target_pitch, nbytes)
        return
    # PoCL crashes on rows of sub-buffers.
    (whole, begin), (goal, first) = source.origin, target.origin
    begin, first = begin + source_offset, first + target_offset
    sizes = ctypes.c_size_t * 3
    region = sizes(nbytes, rows, 1)
    if isinstance(whole.native, NativeBuffer) and isinstance(goal.native, NativeBuffer):
        cl._cl._enqueue_copy_buffer_rect(
            queue, whole.native.cl_buffer, goal.native.cl_buffer, (begin, 0, 0), (first, 0, 0), (nbytes, rows, 1),
            (source_pitch,), (target_pitch,))
    elif isinstance(whole.native, NativePointer) and isinstance(goal.native, NativeBuffer):
        check(driver.write_rectangle(
            queue.int_ptr, goal.native.cl_buffer.int_ptr, False, sizes(first, 0, 0), sizes(begin, 0, 0), region,
            target_pitch, 0, source_pitch, 0, whole.native.address, 0, None, None))
    elif isinstance(whole.native, NativeBuffer) and isinstance(goal.native, NativePointer):
        check(driver.read_rectangle(
            queue.int_ptr, whole.native.cl_buffer.int_ptr, False, sizes(begin, 0, 0), sizes(first, 0, 0), region,
            source_pitch, 0, target_pitch, 0, goal.native.address, 0, None, None))


def fill(queue: cl.CommandQueue, memory: Memory, pattern: bytes, offset: int, nbytes: int) -> None:
    """A pattern over bytes of memory."""
    native = memory.native
    if isinstance(native, NativePointer):
        check(native.calls.fill(queue.int_ptr, native.address + offset, pattern, len(pattern), nbytes, 0, None, None))
    else:
        cl._cl._enqueue_fill_buffer(queue, memory.cl_buffer, np.frombuffer(pattern, np.uint8), offset, nbytes)
