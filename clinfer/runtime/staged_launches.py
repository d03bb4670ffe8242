"""A run of launches as a table of a megakernel's stages, on one queue."""
from __future__ import annotations

import struct
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import pyopencl as cl

from clinfer.base.errors import OutOfMemoryError
from clinfer.runtime import driver
from clinfer.runtime.argument_changes import Argument, ArgumentChanges
from clinfer.runtime.body_key import BodyKey, Launch, key_of
from clinfer.runtime.kernel import Kernel
from clinfer.runtime.launches import Launches, PlannedLaunches, WorkSize
from clinfer.runtime.memory import Memory, NativeBuffer
from clinfer.runtime.program import Program
from clinfer.runtime.ptx_kernel import PtxKernel
from clinfer.runtime.ptx_megakernel import ENTRY, STAGE, Megakernel, turn_words
from clinfer.runtime.seen_tables import SeenTable, SeenTables
from clinfer.runtime.stage_headers import StageHeaders
from clinfer.runtime.stage_image import StageImage
from clinfer.runtime.stage_order import Region, Regions, StagePlace, Use, independent, levels_of, places_of
from clinfer.runtime.stage_table import StageTable
from clinfer.runtime.waiting import answering

if TYPE_CHECKING:
    from clinfer.runtime.stream import Stream

_TABLE, _COUNTER, _FIRST, _STAGES, _MET = range(5)
_WRAP = 1 << 32
_ADDRESS = struct.Struct("<Q")


@dataclass(frozen=True)
class Joined:
    """A built megakernel, what its table needs (`stage_table.py`), the numbers of its bodies, and which of the
    launches, by position, are its stages."""

    program: Program
    exchange: Program
    megakernel: Megakernel
    numbers: dict[BodyKey, int]
    stages: frozenset[int]


@dataclass(frozen=True, eq=False)
class _Segment:
    """Launches one behind the other: stages of `kernel`, or each by itself."""

    first: int
    count: int
    kernel: Kernel | None


@dataclass(frozen=True)
class _Order:
    """Of the launches that are stages, by position: where they are; where each of their `arguments` begins in the
    table; and how often groups meet between the stages of a segment. One behind the other: their `places` in the table,
    and the second parts of their headers."""

    stages: Mapping[int, StagePlace]
    arguments: Mapping[int, Sequence[int]]
    meetings: Mapping[_Segment, int]
    places: np.ndarray
    turns: np.ndarray


class StagedLaunches:
    """Launches, of which those that a megakernel has bodies for are its stages. The launches may change in size and in
    arguments: `changed` holds the arguments that did, `resized` the positions of launches that did since they were
    launched. Argument blocks are written to the table by the kernels that have them."""

    def __init__(self, stream: Stream, launches: Launches, joined: Joined, units: int) -> None:
        engine, megakernel = stream.engine, joined.megakernel
        self._joined, self._units = joined, units
        self._positions = sorted(joined.stages)
        self._work = WorkSize((units * megakernel.items,), (megakernel.items,))
        make_table = partial(StageTable, engine, joined.exchange, megakernel.stage_bytes * len(launches))
        self._table, self._seen = make_table(), SeenTables(make_table)
        self._counter = engine.allocate_bytes(4, "a counter of groups", zero=True)
        self._met, self._is_whole = 0, True
        self._segments = tuple(self._segments_of(stream, [n in joined.stages for n in range(len(launches))]))
        kernels = _kernels(launches, joined)
        self._parameters = {position: kernel.parameters for position, kernel in kernels.items()}
        self._read_early = {position: kernel.read_early for position, kernel in kernels.items()}
        self._headers = StageHeaders(joined.numbers, self._positions)
        self._regions = Regions[Argument]({})
        self.changed = ArgumentChanges(launches.left)
        self.resized = set[int]()
        self._is_behind = False
        self._place(launches, {position: StagePlace(position, True, 0, 0) for position in joined.stages})
        # OpenCL keeps a kernel's arguments until it is done, but does not see those in the table.
        weakref.finalize(self, _let_go, stream.cl_queue, self.changed, self._table.image,
                         [launches[position][0] for position in self._positions])
        for position in self._positions:
            launches[position][0].note_changes(self.changed, position)

    def _segments_of(self, stream: Stream, are_stages: Sequence[bool]) -> Iterator[_Segment]:
        first = 0
        for is_stage, run in groupby(are_stages):
            count = len(list(run))
            yield _Segment(first, count, self._segment_kernel(stream, first, count) if is_stage else None)
            first += count

    def _segment_kernel(self, stream: Stream, first: int, count: int) -> Kernel:
        kernel = stream.engine.create_kernel(self._joined.program, ENTRY)
        kernel.set_buffer(_COUNTER, self._counter)
        kernel.set_bytes(_FIRST, struct.pack("<I", first))
        kernel.set_bytes(_STAGES, struct.pack("<I", count))
        return kernel

    def enqueue(self, stream: Stream, launches: Launches) -> bool:
        """Launch all on the queue on which they always are; False, and nothing is launched: it is better done one by
        one this time."""
        if not self._is_whole:
            self._begin_anew(stream, launches)
        table = self._table_of(stream, launches)
        if table is None:
            return False
        self._is_whole = False
        for segment in self._segments:
            if segment.kernel is not None:
                segment.kernel.set_buffer(_TABLE, table.memory)
                stream.enqueue(segment.kernel, self._work)
            else:
                for kernel, work in launches[segment.first:segment.first + segment.count]:
                    stream.enqueue(kernel, work)
        # The device works while the next launch is made ready.
        self._expect(self._met_then)
        left = self.changed.left
        if left:
            stream.keep_a_while(left.copy())
            left.clear()
        self._is_whole = True
        return True

    def _begin_anew(self, stream: Stream, launches: Sequence[Launch]) -> None:
        """Something came between: nobody knows how often the groups have met, nor all of what is in the image."""
        stream.fill(self._counter)
        self._met, self._regions = 0, Regions({})
        self._place(launches, self._order.stages)
        self._is_whole = True

    def _expect(self, met: int) -> None:
        """The groups will have met that often when they are launched the next time."""
        self._met = met
        for segment in self._segments:
            if segment.kernel is not None:
                segment.kernel.set_bytes(_MET, struct.pack("<I", met))
                met = (met + self._units * self._order.meetings[segment]) % _WRAP
        self._met_then = met

    def has_table(self, planned: PlannedLaunches) -> bool:
        """Whether there is a table of what is planned, for which kernels need not be told anything."""
        return planned in self._seen

    def prepare(self, stream: Stream, launches: Launches) -> None:
        """Bring the table up to date ahead of the next launch, behind those that were given, if it is worth one."""
        if 2 * len(self.resized) <= len(launches):
            self._table_of(stream, launches)

    def _table_of(self, stream: Stream, launches: Launches) -> StageTable | None:
        """The table of what is launched, up to date on the device; None where so much has changed since the last launch
        that another one of the same sizes may not follow, or a body is missing."""
        self._take_arguments(stream, launches)
        seen = self._seen.of(launches.planned) or self._see(launches)
        if seen is None:
            return self._table if self._follow(stream, launches) else None
        for position, index in self.changed.since(seen.changes):
            place = self._order.arguments[position][index]
            seen.table.image.put(place, self._table.image.part(place, self._parameters[position][index].nbytes))
        seen.changes = self.changed.count
        seen.table.update(stream)
        return seen.table

    def _see(self, launches: Launches) -> SeenTable | None:
        """A table for what is planned, where it came before and little of the last one's is left; else None."""
        launches.settle()
        image = self._table.image
        is_little = 4 * len(self.resized) <= len(launches) and image.count <= image.most
        if is_little or launches.planned is None or not self._seen.note(launches.planned):
            return None
        headers = self._header_rows(launches)
        if headers is None:
            return None
        try:
            table = self._seen.room()
        except OutOfMemoryError:
            return None
        table.image.become(image)
        table.image.put_rows(self._order.places, headers)
        seen = SeenTable(table, self.changed.count)
        self._seen.put(launches.planned, seen)
        return seen

    def _follow(self, stream: Stream, launches: Launches) -> bool:
        """Bring the table that changes from launch to launch up to date; False: see `_table_of`."""
        self._is_behind |= bool(self.resized)
        if 2 * len(self.resized) > len(launches):
            self.resized.clear()
            return False
        if self._is_behind:
            headers = self._header_rows(launches)
            if headers is None:
                return False
            self._table.image.put_rows(self._order.places, headers)
        self._table.update(stream)
        self.resized.clear()
        self._is_behind = False
        return True

    def _header_rows(self, launches: Launches) -> np.ndarray | None:
        """The headers of stages in a row each; None: a body is missing."""
        words = self._headers.words(launches)
        return None if words is None else np.hstack([words, self._order.turns])

    def _take_arguments(self, stream: Stream, launches: Launches) -> None:
        """Put the arguments that have changed into the image, and let stages run in the order that follows."""
        if not self.changed:
            return
        moved = self._write_arguments(stream, launches)
        was_whole, self._is_whole = self._is_whole, False
        if moved and not self._regions.move(moved):
            self._regions = Regions({**self._regions.by_argument, **moved})
            if self._arrange(launches, self._regions.by_argument):
                self._write_arguments(stream, launches)
        self.changed.clear()
        self._is_whole = was_whole

    def _write_arguments(self, stream: Stream, launches: Sequence[Launch]) -> dict[Argument, Region]:
        """Put the arguments that have changed into the image; the buffers among them, which are kept from now on, and
        where they lie."""
        image, places = self._table.image, self._order.arguments
        memories: dict[Argument, Memory] = {}
        regions: dict[Argument, Region] = {}
        for (position, index), value in self.changed.items():
            if isinstance(value, bytes):
                image.put(places[position][index], value)
            else:
                assert value is not None, f"{launches[position][0]} has no argument {index}"
                memories[position, index] = value
        if memories:
            # All are found before any is kept, since one of them may have been released.
            addresses = stream.addresses.of(memories.values())
            self._hold(memories)
            for (position, index), address in zip(memories, addresses, strict=True):
                image.put(places[position][index], _ADDRESS.pack(address))
                regions[position, index] = address, address + memories[position, index].capacity
        return regions

    def _hold(self, memories: Mapping[Argument, Memory]) -> None:
        """Keep the buffers in which arguments lie, and until the next launch is done those that they take the places
        of."""
        held = self.changed.held
        for argument, memory in memories.items():
            native, before = memory.origin[0].native, held.get(argument)
            pointer = native.cl_buffer.int_ptr if isinstance(native, NativeBuffer) else None
            if before is None or before.int_ptr != pointer:
                kept = None if pointer is None else cl.Buffer.from_int_ptr(pointer, True)
                self.changed.let_go(argument)
                if kept is not None:
                    held[argument] = kept

    def _arrange(self, launches: Sequence[Launch], regions: Mapping[Argument, Region]) -> bool:
        """Let stages run in the order that follows from where their arguments lie; whether that is another one than
        before. Then all of the table is to be written."""
        uses: dict[int, list[Use]] = {position: [] for position in self._positions}
        stages = {position: launches[position] for position in self._positions}
        for (position, index), region in regions.items():
            uses[position].append(Use(*region, index not in stages[position][0].only_read))
        places: dict[int, StagePlace] = {}
        for segment in self._segments:
            if segment.kernel is not None:
                positions = range(segment.first, segment.first + segment.count)
                groups = [prod(key_of(stages[position]).groups(stages[position][1])) for position in positions]
                levels = levels_of([uses[position] for position in positions])
                written = [set[Use]() for _ in range(max(levels) + 1)]
                for position, level in zip(positions, levels, strict=True):
                    written[level].update(use for use in uses[position] if use.is_written)
                # Who begins a level knows that those before the last one are done.
                points = [self._point(position, regions, written[level - 1] if level else set())
                          for position, level in zip(positions, levels, strict=True)]
                places.update(zip(positions, places_of(levels, groups, points, self._units, segment.first),
                                  strict=True))
        if places == self._order.stages:
            return False
        self._place(launches, places)
        return True

    def _place(self, launches: Sequence[Launch], stages: Mapping[int, StagePlace]) -> None:
        """Let stages be there in the table, all of which is to be written."""
        was_whole, self._is_whole = self._is_whole, False
        self._order, image = self._ordered(stages), self._table.image
        self._seen.forget()
        image.clear()
        self._is_behind = True
        for position, places in self._order.arguments.items():
            kernel = launches[position][0]
            shown = kernel.show_block(image, places)
            self.changed.update({(position, index): kernel.argument(index) for index in range(len(places))
                                 if index != shown})
        self._expect(self._met)
        self._is_whole = was_whole

    def _point(self, position: int, regions: Mapping[Argument, Region], written: Collection[Use]) -> int:
        """The last of a stage's points before which it reads nothing of what is `written` by those that it may not have
        met yet; 0: it awaits them before it begins."""
        return max((point for point, early in enumerate(self._read_early[position], 1) if early is not None
                    and independent([regions[position, index] for index in early], [written])), default=0)

    def _ordered(self, stages: Mapping[int, StagePlace]) -> _Order:
        size = self._joined.megakernel.stage_bytes
        return _Order(stages, {
            position: [place.slot * size + STAGE.size + parameter.offset for parameter in self._parameters[position]]
            for position, place in stages.items()}, {
            segment: sum(stages[segment.first + number].meets for number in range(segment.count))
            for segment in self._segments if segment.kernel is not None},
            np.array([stages[position].slot * size for position in self._positions]),
            np.array([turn_words(*stages[position][1:]) for position in self._positions], np.uint32))


def _kernels(launches: Sequence[Launch], joined: Joined) -> dict[int, PtxKernel]:
    """The kernels of stages, by position."""
    found = {(key.program, key.entry): joined.megakernel.bodies[number].kernel
             for key, number in joined.numbers.items()}
    return {position: found[launches[position][0].program, launches[position][0].entry]
            for position in joined.stages}


def _let_go(cl_queue: cl.CommandQueue, changed: ArgumentChanges, image: StageImage, kernels: Sequence[Kernel]) -> None:
    """Let kernels forget a table, and release what it holds once nothing uses it any more."""
    for kernel in kernels:
        kernel.leave(changed, image)
    answering(partial(driver.finish, cl_queue.int_ptr))
    changed.held.clear()
    changed.left.clear()
