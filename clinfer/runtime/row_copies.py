"""Copies of rows between the same two memories, again and again."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import pyopencl as cl

from clinfer.runtime.memory import Memory, NativeBuffer

if TYPE_CHECKING:
    from clinfer.runtime.stream import Stream

CopyRows: TypeAlias = Callable[[int, int], None]
"""(where the rows begin in the source, in the target) -> None."""


def row_copies(stream: Stream, source: Memory, target: Memory, rows: int, nbytes: int, *, source_pitch: int,
               target_pitch: int) -> CopyRows:
    """What does `Stream.copy_rows` between these; both have all of the pitch behind where the last row begins."""
    (whole, begin), (goal, first) = source.origin, target.origin
    one, other = whole.native, goal.native
    is_within = rows * source_pitch <= source.capacity and rows * target_pitch <= target.capacity
    if not (rows and nbytes and is_within and isinstance(one, NativeBuffer) and isinstance(other, NativeBuffer)):
        return lambda at, to: stream.copy_rows(source, target, rows, nbytes, source_pitch=source_pitch,
                                               target_pitch=target_pitch, source_offset=at, target_offset=to)
    queue, buffers, doing = stream.cl_queue, (one.cl_buffer, other.cl_buffer), "copy rows of memory"
    if rows == 1:
        enqueue = partial(cl._cl._enqueue_copy_buffer, queue, *buffers, nbytes)
        return lambda at, to: stream.command(doing, partial(enqueue, begin + at, first + to))
    # PoCL crashes on rows of sub-buffers.
    enqueue, sizes = partial(cl._cl._enqueue_copy_buffer_rect, queue, *buffers), (
        (nbytes, rows, 1), (source_pitch,), (target_pitch,))
    return lambda at, to: stream.command(doing, partial(enqueue, (begin + at, 0, 0), (first + to, 0, 0), *sizes))
