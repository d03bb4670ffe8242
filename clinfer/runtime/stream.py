"""A command queue: launches, transfers and their order."""
from __future__ import annotations

import ctypes
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

from clinfer.base.errors import ClinferError
from clinfer.runtime import driver, transfers
from clinfer.runtime.device_addresses import DeviceAddresses
from clinfer.runtime.driver import StatusError
from clinfer.runtime.event import Event
from clinfer.runtime.event_log import EventLog
from clinfer.runtime.host_copies import HostCopies, read_all
from clinfer.runtime.kept_objects import Kept, KeptObjects
from clinfer.runtime.kernel import Kernel
from clinfer.runtime.launches import Launches, LaunchLoop, WorkSize, arguments_of
from clinfer.runtime.memory import Allocation, Memory, NativePointer
from clinfer.runtime.status import driver_error
from clinfer.runtime.waiting import Pace, answering

if TYPE_CHECKING:
    from clinfer.runtime.engine import Engine


_NAP_S = 2e-4


class Stream:
    """Commands run in the order in which they are given, whatever the queue beneath. One thread at a time.

    The queue may be the user's, or nobody else's (`is_own`). Host arrays of unfinished transfers are kept alive here.
    `pace`: that of what is given at present, which decides how it is waited for. `event_log`: where transfers and waits
    are noted, if anywhere.
    """

    def __init__(self, engine: Engine, cl_queue: cl.CommandQueue, is_own: bool = False) -> None:
        self.engine = engine
        self.cl_queue = cl_queue
        modes = cl.command_queue_properties
        self.in_order = not cl_queue.properties & modes.OUT_OF_ORDER_EXEC_MODE_ENABLE
        self.profiling = bool(cl_queue.properties & modes.PROFILING_ENABLE)
        self._handle = driver.HANDLE(cl_queue.int_ptr)
        self._launch = driver.enqueue_nd_range_kernel
        self._loop = LaunchLoop.around(self._launch, self._handle)
        self._kept_objects = KeptObjects()
        self._kept: list[weakref.finalize[Any, Any]] = []
        self._host_copies = HostCopies(is_own and engine.capabilities.buffers_in_place)
        self.pace = Pace()
        self.event_log: EventLog | None = None
        self._given = 0
        """Commands since everything was done."""
        if engine.pointers is not None:
            engine.pointers.watch(self, cl_queue)

    def enqueue(self, kernel: Kernel, work: WorkSize | Sequence[int],
                local: Sequence[int] | None = None) -> None:
        """Launch a kernel, without an event. A prepared `WorkSize` is the fast way."""
        if not isinstance(work, WorkSize):
            work = WorkSize(work, local)
        arguments = arguments_of(work)
        if arguments is None:
            return
        if not self.in_order:
            self.barrier()
        self._given += 1
        status = self._launch(self._handle, kernel.handle, *arguments, 0, None, None)
        if status:
            raise self._refused(status, kernel, work)

    def enqueue_all(self, launches: Sequence[tuple[Kernel, WorkSize]]) -> None:
        """Launch kernels one behind the other, without events, at the least cost per launch."""
        if not self.in_order:
            for kernel, work in launches:
                self.enqueue(kernel, work)
            return
        megakernels = self.engine.megakernels
        if megakernels is not None and isinstance(launches, Launches) and megakernels.launch(self, launches):
            return
        self._given += len(launches)
        if self._loop is not None and isinstance(launches, Launches):
            status, failed = self._loop(launches)
            if status:
                raise self._refused(status, *launches[failed])
            return
        launch, queue = self._launch, self._handle
        for kernel, work in launches:
            arguments = arguments_of(work)
            if arguments is None:
                continue
            status = launch(queue, kernel.handle, *arguments, 0, None, None)
            if status:
                raise self._refused(status, kernel, work)

    def enqueue_waiting(self, launches: Sequence[tuple[Kernel, WorkSize]], waits: Sequence[Sequence[int]]) -> None:
        """Launch kernels, each of which waits for the earlier ones of those numbers only; the first ones begin when
        all that came before is done. On an in-order queue they run one behind the other."""
        if self.in_order:
            self.enqueue_all(launches)
            return
        self.barrier()
        self._given += len(launches)
        events: list[tuple[int, ...]] = []
        made: list[int] = []
        try:
            for (kernel, work), numbers in zip(launches, waits, strict=True):
                waiting = tuple(event for number in numbers for event in events[number])
                arguments = arguments_of(work)
                if arguments is not None:
                    made.append(self._launch_behind(kernel, work, arguments, waiting))
                    waiting = (made[-1],)
                events.append(waiting)
        finally:
            for event in made:
                driver.release_event(event)

    def _launch_behind(self, kernel: Kernel, work: WorkSize, arguments: tuple[Any, ...],
                       waiting: tuple[int, ...]) -> int:
        """Launch a kernel that waits for those events; the handle of its own."""
        pointer = driver.HANDLE()
        events = (driver.HANDLE * len(waiting))(*waiting) if waiting else None
        status = self._launch(self._handle, kernel.handle, *arguments, len(waiting), events, ctypes.byref(pointer))
        if status:
            raise self._refused(status, kernel, work)
        assert pointer.value is not None
        return pointer.value

    def enqueue_with_event(self, kernel: Kernel, work: WorkSize | Sequence[int],
                           local: Sequence[int] | None = None) -> Event:
        """Launch a kernel; the event tells when it is done (an empty launch: when what came before is)."""
        if not isinstance(work, WorkSize):
            work = WorkSize(work, local)
        arguments = arguments_of(work)
        if arguments is None:
            return self.marker()
        if not self.in_order:
            self.barrier()
        self._given += 1
        return Event(cl.Event.from_int_ptr(self._launch_behind(kernel, work, arguments, ()), False))

    def _refused(self, status: int, kernel: Kernel, work: WorkSize) -> ClinferError:
        return driver_error(status, f"launch kernel {kernel.entry}", where=f"device {self.engine.device}",
                            values={"global size": work.global_size, "local size": work.local_size})

    def write(self, memory: Memory, array: np.ndarray, blocking: bool = False, offset_bytes: int = 0) -> None:
        """Copy an array's bytes into memory. Unless blocking, leave the array as it is until `finish()`."""
        source = np.ascontiguousarray(array)
        self._check_range("write to", memory, offset_bytes, source.nbytes)
        may_copy = self.is_idle and self.event_log is None
        if source.nbytes and not (may_copy and self._host_copies.write(self, memory, offset_bytes, source)):
            self._transfer("write to memory", lambda blocks: transfers.write(
                self.cl_queue, memory, offset_bytes, source, blocks), source, blocking)

    def read(self, memory: Memory, into: np.ndarray | int | None = None, blocking: bool = True,
             offset_bytes: int = 0) -> np.ndarray:
        """Copy memory into a contiguous array, or that many bytes (None: all) into a new uint8 array.

        Unless blocking, the array's contents are valid after `finish()`.
        """
        if not isinstance(into, np.ndarray):
            into = np.empty(memory.nbytes - offset_bytes if into is None else into, np.uint8)
        elif not into.flags.c_contiguous or not into.flags.writeable:
            raise ClinferError("reading needs a contiguous, writable array", values={"strides": into.strides})
        target = into
        self._check_range("read from", memory, offset_bytes, target.nbytes)
        if target.nbytes:
            self._transfer("read from memory", lambda blocks: transfers.read(
                self.cl_queue, memory, offset_bytes, target, blocks), target, blocking)
        return target

    def read_at_finish(self, memory: Memory, into: np.ndarray) -> None:
        """Copy memory into a contiguous array, whose contents are valid after `finish()`. Until then nothing may be
        given that writes to the memory: the host may copy it at the end."""
        self._check_range("read from", memory, 0, into.nbytes)
        if self.event_log is not None or not self._host_copies.note(memory, into):
            self.read(memory, into, blocking=False)

    @contextmanager
    def mapped(self, memory: Memory) -> Iterator[np.ndarray]:
        """The bytes of any memory (uint8, `nbytes` of them) for the host to read and write, inside of a `with`.

        Waits for all that was given before. Without a copy where the device works in the host's memory, or the host
        sees the memory anyway; else the bytes are moved at the beginning and at the end.
        """
        self._check_range("map", memory, 0, memory.nbytes)
        self.finish()
        if not memory.nbytes or (isinstance(memory.native, NativePointer) and not memory.is_host_visible):
            array = self.read(memory)
            yield array
            self.write(memory, array, blocking=True)
        elif memory.is_host_visible:
            yield memory.host_view()
        else:
            flags = cl.map_flags.READ | cl.map_flags.WRITE
            array, _ = self._guarded("map memory", lambda: cl.enqueue_map_buffer(
                self.cl_queue, memory.cl_buffer, flags, 0, (memory.nbytes,), np.uint8))
            try:
                yield array
            finally:
                self._guarded("unmap memory", lambda: array.base.release(self.cl_queue))
                self.finish()

    def begin_read(self, memory: Memory, into: np.ndarray) -> Event:
        """Copy memory into a contiguous array, which is valid once the event is complete, whatever is given later."""
        self._check_range("read from", memory, 0, into.nbytes)
        return Event(self._transfer("read from memory", lambda blocks: transfers.read(
            self.cl_queue, memory, 0, into, blocks), into, False)) if into.nbytes else self.marker()

    def copy(self, source: Memory, target: Memory, nbytes: int | None = None, source_offset: int = 0,
             target_offset: int = 0) -> None:
        """Copy bytes (None: all of the source after its offset) between memories that do not overlap."""
        count = source.nbytes - source_offset if nbytes is None else nbytes
        self._check_range("copy from", source, source_offset, count)
        self._check_range("copy to", target, target_offset, count)
        if not count:
            return
        if transfers.needs_staging(source, target):
            with self._staging(source, target, count) as staging:
                self.copy(source, staging, count, source_offset)
                self.finish()
                self.copy(staging, target, count, 0, target_offset)
        else:
            self.command("copy memory", lambda: transfers.copy(
                self.cl_queue, source, source_offset, target, target_offset, count))

    def copy_rows(self, source: Memory, target: Memory, rows: int, nbytes: int, *, source_pitch: int,
                  target_pitch: int, source_offset: int = 0, target_offset: int = 0) -> None:
        """Copy `nbytes` of each row between memories that do not overlap; rows begin `pitch` bytes apart."""
        if rows == 1 or (rows and source_pitch == target_pitch == nbytes):
            self.copy(source, target, rows * nbytes, source_offset, target_offset)
            return
        self._check_range("copy from", source, source_offset, max(rows - 1, 0) * source_pitch + nbytes)
        self._check_range("copy to", target, target_offset, max(rows - 1, 0) * target_pitch + nbytes)
        if not (rows and nbytes):
            return
        if transfers.needs_staging(source, target):
            with self._staging(source, target, rows * nbytes) as staging:
                self.copy_rows(source, staging, rows, nbytes, source_pitch=source_pitch, target_pitch=nbytes,
                               source_offset=source_offset)
                self.finish()
                self.copy_rows(staging, target, rows, nbytes, source_pitch=nbytes, target_pitch=target_pitch,
                               target_offset=target_offset)
        else:
            self.command("copy rows of memory", lambda: transfers.copy_rows(
                self.cl_queue, source, source_offset, source_pitch, target, target_offset, target_pitch, rows, nbytes))

    @contextmanager
    def _staging(self, source: Memory, target: Memory, nbytes: int) -> Iterator[Memory]:
        """An array of the host's between a buffer and a pointer, kept until what is enqueued inside is done. It must be
        full before it is read: NVIDIA's driver reads such arrays when a copy is enqueued, not when its turn comes."""
        calls = next(end.native.calls for end in (source, target) if isinstance(end.native, NativePointer))
        array = np.empty(nbytes, np.uint8)
        yield Memory(self.engine, Allocation(NativePointer(array.ctypes.data, "svm", calls), nbytes))
        self._kept_objects.append(Kept(array, self.marker().cl_event))

    def fill(self, memory: Memory, pattern: int | bytes = 0, nbytes: int | None = None,
             offset_bytes: int = 0) -> None:
        """Repeat a byte value, or a pattern of 1, 2, 4, 8 or 16 bytes, over bytes of memory (None: all)."""
        count = memory.nbytes - offset_bytes if nbytes is None else nbytes
        self._check_range("fill", memory, offset_bytes, count)
        raw = bytes([pattern]) if isinstance(pattern, int) else pattern
        if count:
            self.command("fill memory", lambda: transfers.fill(self.cl_queue, memory, raw, offset_bytes, count))

    def marker(self, wait_for: Iterable[Event] = ()) -> Event:
        """An event that is complete when `wait_for`, or else everything given so far, is."""
        return Event(self._guarded("set a marker", lambda: cl.enqueue_marker(self.cl_queue, _list(wait_for))))

    def barrier(self, wait_for: Iterable[Event] = ()) -> None:
        """Let later commands wait for `wait_for` (events of any queue), or else for all that came before."""
        self._guarded("set a barrier", lambda: cl.enqueue_barrier(self.cl_queue, _list(wait_for)))

    def wait_for(self, events: Iterable[Event]) -> None:
        """Block the host until all events are complete."""
        waiting = _list(events)
        if waiting:
            self._noted_wait("wait for events",
                             lambda: driver.check(self._wait(partial(driver.wait_for_all, waiting))))

    def flush(self) -> None:
        """Hand everything given so far to the device without waiting."""
        self._guarded("flush a stream", self.cl_queue.flush)

    def finish(self) -> None:
        """Block until everything given so far is done. An interrupt ends the waiting, and nothing else."""
        noted = self._host_copies.take()
        self._noted_wait("finish a stream", partial(self._wait, self._finish))
        self._given = 0
        self._kept_objects.clear()
        while self._kept:
            self._kept.pop().detach()
        read_all(self, noted)

    @cached_property
    def addresses(self) -> DeviceAddresses:
        """Where memories lie for kernels, as commands of this stream want to know."""
        return DeviceAddresses(self.engine)

    @property
    def is_idle(self) -> bool:
        """Whether all that was given is known to be done."""
        return not self._given

    def _finish(self) -> None:
        driver.check(driver.finish(self._handle))

    def _wait(self, block: Callable[[], Any]) -> Any:
        return self.pace.wait(self._given, block)

    def finish_within(self, seconds: float) -> bool:
        """`finish`, unless that takes longer; whether everything given so far is done. Else nothing is read any more
        that was to be read at the finish."""
        event, deadline = self.marker(), time.monotonic() + seconds
        self.flush()
        while not event.is_complete:
            if time.monotonic() > deadline:
                self._host_copies.take()
                return False
            time.sleep(_NAP_S)
        self.finish()
        return True

    def keep(self, what: object) -> None:
        """Keep what the device works on until the stream is finished, even if nobody refers to the stream any more.
        Python ends behind it: drivers crash where their work outlives the process."""
        self._kept.append(weakref.finalize(self, _finish, self.cl_queue, what))

    def keep_a_while(self, what: object) -> None:
        """Keep something that the commands given so far work on, until they are done."""
        self._kept_objects.append(Kept(what, self.marker().cl_event))
        self._kept_objects.forget_done()

    def _transfer(self, doing: str, enqueue: Callable[[bool], cl.Event], array: np.ndarray, blocking: bool) -> cl.Event:
        """`enqueue(blocks)`: the command, which blocks or not."""
        waits = blocking and not self.pace.is_quick(self._given)
        self._kept_objects.forget_done()
        # Noted before it begins, so that the array is kept whatever interrupts this.
        transfer = Kept(array)
        if waits or not blocking:
            self._kept_objects.append(transfer)
        # pyopencl's event owns the host array as well, and collecting it early would wait for the transfer.
        event = transfer.event = self.command(doing, partial(enqueue, blocking and not waits))
        if waits:
            self.wait_for([Event(event)])
        return event

    def command(self, doing: str, enqueue: Callable[[], Any], count: int = 1) -> Any:
        """What `enqueue` gives, which hands the queue a command, or so many; `doing`: what errors name it."""
        if not self.in_order:
            self.barrier()
        self._given += count
        if self.event_log is None:
            return self._guarded(doing, enqueue)
        start = time.perf_counter_ns()
        event = self._guarded(doing, enqueue)
        if event is None:
            self.event_log.note("transfer", doing, start)
        else:
            self.event_log.command("transfer", doing, Event(event), start, "transfer")
        return event

    def _noted_wait(self, doing: str, wait: Callable[[], Any]) -> None:
        if self.event_log is None:
            self._guarded(doing, wait)
        else:
            self.event_log.call("wait", doing, lambda: self._guarded(doing, wait))

    def _guarded(self, doing: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except (cl.Error, StatusError) as error:
            raise driver_error(error, doing, where=f"device {self.engine.device}") from None

    def _check_range(self, doing: str, memory: Memory, offset: int, nbytes: int) -> None:
        if offset < 0 or nbytes < 0 or offset + nbytes > memory.capacity:
            raise ClinferError(f"cannot {doing} memory beyond its end", where=f"device {self.engine.device}",
                               values={"offset": offset, "bytes": nbytes, "bytes of memory": memory.capacity})


def _finish(cl_queue: cl.CommandQueue, kept: object) -> None:
    # A queue that failed will not use anything any more.
    answering(partial(driver.finish, cl_queue.int_ptr))


def _list(events: Iterable[Event]) -> list[cl.Event] | None:
    return [event.cl_event for event in events] or None
