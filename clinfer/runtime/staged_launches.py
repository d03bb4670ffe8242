"""A run of launches as a table of a megakernel's stages, on one queue."""
from __future__ import annotations

import struct
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyopencl as cl

from clinfer.runtime import driver
from clinfer.runtime.kernel import Kernel
from clinfer.runtime.launches import WorkSize
from clinfer.runtime.memory import Memory, NativeBuffer
from clinfer.runtime.program import Program
from clinfer.runtime.ptx_megakernel import ENTRY, Megakernel
from clinfer.runtime.waiting import answering

if TYPE_CHECKING:
    from clinfer.runtime.stream import Stream

Launch = tuple[Kernel, WorkSize]
_OPEN_ITEMS, _WARP = 128, 32
_TABLE, _COUNTER, _FIRST, _STAGES, _MET = range(5)
_WRAP = 1 << 32


class BodyKey(NamedTuple):
    """What tells one body of a megakernel from another."""

    program: Program
    entry: str
    local: tuple[int, int, int]

    def groups(self, work: WorkSize) -> tuple[int, int, int]:
        """The work-groups of a launch in each dimension."""
        x, y, z = (-(-size // items) for size, items in zip(_of_three(work.global_size), self.local, strict=True))
        return x, y, z


def key_of(launch: Launch) -> BodyKey:
    """The body of a launch; one that leaves the local size open gets one of whole warps."""
    kernel, work = launch
    if work.local_size is not None:
        return BodyKey(kernel.program, kernel.entry, _of_three(work.local_size))
    wide = -(-max(work.global_size[0], 1) // _WARP) * _WARP
    return BodyKey(kernel.program, kernel.entry, (min(_OPEN_ITEMS, wide), 1, 1))


def _of_three(size: tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z = (*size, 1, 1)[:3]
    return x, y, z


@dataclass(frozen=True)
class Joined:
    """A built megakernel, the numbers of its bodies, and which of the launches, by position, are its stages."""

    program: Program
    megakernel: Megakernel
    numbers: dict[BodyKey, int]
    stages: frozenset[int]


@dataclass(frozen=True)
class _Segment:
    """Launches one behind the other: stages of `kernel`, or each by itself."""

    first: int
    count: int
    kernel: Kernel | None


class StagedLaunches:
    """Launches, of which those that a megakernel has bodies for are its stages. The launches may change in size and in
    arguments; `changed` holds the positions of those that did."""

    def __init__(self, stream: Stream, launches: Sequence[Launch], joined: Joined, units: int) -> None:
        engine, megakernel = stream.engine, joined.megakernel
        self._joined, self._units = joined, units
        self._work = WorkSize((units * megakernel.items,), (megakernel.items,))
        self._image = bytearray(megakernel.stage_bytes * len(launches))
        self._table = engine.allocate_bytes(len(self._image), "a table of stages")
        self._counter = engine.allocate_bytes(4, "a counter of groups", zero=True)
        self._met, self._is_whole = 0, True
        self._segments = tuple(self._segments_of(stream, len(launches)))
        self.changed = set(range(len(launches)))
        self._was_changed = True
        # OpenCL keeps a kernel's arguments until it is done, but does not see those in the table.
        self._held: list[tuple[cl.Buffer, ...]] = [()] * len(launches)
        weakref.finalize(self, _let_go, stream.cl_queue, self._held)
        for position, (kernel, _) in enumerate(launches):
            kernel.watcher = partial(self.changed.add, position)

    def _segments_of(self, stream: Stream, launches: int) -> Iterator[_Segment]:
        first = 0
        for is_stage, run in groupby(position in self._joined.stages for position in range(launches)):
            count = len(list(run))
            yield _Segment(first, count, self._segment_kernel(stream, first, count) if is_stage else None)
            first += count

    def _segment_kernel(self, stream: Stream, first: int, count: int) -> Kernel:
        kernel = stream.engine.create_kernel(self._joined.program, ENTRY)
        kernel.set_buffer(_TABLE, self._table)
        kernel.set_buffer(_COUNTER, self._counter)
        kernel.set_bytes(_FIRST, struct.pack("<I", first))
        kernel.set_bytes(_STAGES, struct.pack("<I", count))
        return kernel

    def enqueue(self, stream: Stream, launches: Sequence[Launch]) -> bool:
        """Launch all on the queue on which they always are; False, and nothing is launched: it is better done one by
        one this time."""
        if self.changed and not self._write(stream, launches):
            return False
        if not self._is_whole:
            # Something came between, and nobody knows how often the groups have met.
            stream.fill(self._counter)
            self._met = 0
        self._is_whole = False
        for segment in self._segments:
            if segment.kernel is not None:
                segment.kernel.set_bytes(_MET, struct.pack("<I", self._met))
                stream.enqueue(segment.kernel, self._work)
                self._met = (self._met + self._units * (segment.count - 1)) % _WRAP
            else:
                for kernel, work in launches[segment.first:segment.first + segment.count]:
                    stream.enqueue(kernel, work)
        self._is_whole = True
        return True

    def _write(self, stream: Stream, launches: Sequence[Launch]) -> bool:
        """Bring the table up to date; False where more has changed than one launch is worth, or a body is missing."""
        if 2 * len(self.changed) > len(launches) and not self._was_changed:
            self._was_changed = True
            return False
        stages = sorted(self.changed & self._joined.stages)
        if any(key_of(launches[position]) not in self._joined.numbers for position in stages):
            return False
        size = self._joined.megakernel.stage_bytes
        for position in stages:
            self._image[position * size:(position + 1) * size] = self._stage(stream, position, launches[position])
        if stages:
            start, end = stages[0] * size, (stages[-1] + 1) * size
            stream.write(self._table, np.frombuffer(bytes(self._image[start:end]), np.uint8), offset_bytes=start)
        self.changed.clear()
        self._was_changed = False
        return True

    def _stage(self, stream: Stream, position: int, launch: Launch) -> bytes:
        """A launch as it stands in the table; its buffers are kept from now on."""
        kernel, work = launch
        key = key_of(launch)
        number = self._joined.numbers[key]
        parameters = self._joined.megakernel.bodies[number].kernel.parameters
        arguments = bytearray(parameters[-1].offset + parameters[-1].nbytes)
        memories: list[Memory] = []
        for index, parameter in enumerate(parameters):
            value = kernel.argument(index)
            assert value is not None, f"{kernel} has no argument {index}"
            if isinstance(value, Memory):
                memories.append(value)
                value = struct.pack("<Q", stream.addresses.of(value))
            arguments[parameter.offset:parameter.offset + parameter.nbytes] = value
        self._hold(stream, position, memories)
        return self._joined.megakernel.stage(number, key.groups(work), work.global_size[0], bytes(arguments))

    def _hold(self, stream: Stream, position: int, memories: Sequence[Memory]) -> None:
        wholes = [memory.origin[0].native for memory in memories]
        buffers = [native.cl_buffer for native in wholes if isinstance(native, NativeBuffer)]
        held = self._held[position]
        if [buffer.int_ptr for buffer in held] != [buffer.int_ptr for buffer in buffers]:
            if held:
                stream.keep_a_while(held)
            self._held[position] = tuple(cl.Buffer.from_int_ptr(buffer.int_ptr, True) for buffer in buffers)


def _let_go(cl_queue: cl.CommandQueue, held: list[tuple[cl.Buffer, ...]]) -> None:
    """Release what a table holds, once nothing uses it any more."""
    answering(partial(driver.finish, cl_queue.int_ptr))
    held.clear()
