"""In which order the stages of a megakernel run, and before which of them all of its groups meet.

A stage that uses nothing that another one writes, and writes nothing that the other uses, need not wait for it. Each is
put on the first *level* behind the levels of those that it must wait for ("as soon as possible" scheduling, De Micheli,
"Synthesis and Optimization of Digital Circuits", 1994, 5.2). Groups meet between levels alone; on a level a stage's
work-groups begin with the compute unit behind those that the stage before took.
"""
from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

Region = tuple[int, int]
"""Bytes of the device: the first one's address, and that behind the last."""
K = TypeVar("K", bound=Hashable)


class Use(NamedTuple):
    """A region that a launch reads, or writes (and may read)."""

    begin: int
    end: int
    is_written: bool


class StagePlace(NamedTuple):
    """A launch as a stage: its place in the table, whether groups meet for it, at which of its kernel's points (0:
    before it begins), and with which of them its work begins."""

    slot: int
    meets: bool
    point: int
    first_group: int


def levels_of(uses: Sequence[Sequence[Use]]) -> list[int]:
    """The levels of launches, counted from 0, from what each of them uses."""
    edges = sorted({edge for launch in uses for use in launch for edge in use[:2]})
    parts = {edge: number for number, edge in enumerate(edges)}
    # By parts of memory between neighbouring edges: the first levels at which they may be read, and written.
    readable, writable = [0] * len(edges), [0] * len(edges)
    levels = []
    for launch in uses:
        spans = [(range(parts[begin], parts[end]), is_written) for begin, end, is_written in launch]
        level = max([(writable if is_written else readable)[part] for span, is_written in spans for part in span],
                    default=0)
        for span, is_written in spans:
            for part in span:
                writable[part] = max(writable[part], level + 1)
                if is_written:
                    readable[part] = level + 1
        levels.append(level)
    return levels


def places_of(levels: Sequence[int], groups: Sequence[int], points: Sequence[int], units: int,
              first_slot: int) -> list[StagePlace]:
    """Where launches of these levels, each of so many work-groups, are stages, on a device with so many compute
    units; `points`: at which of their kernels' points groups may meet."""
    order = sorted(range(len(levels)), key=levels.__getitem__)
    places: dict[int, StagePlace] = {}
    before, turn = -1, 0
    for slot, number in enumerate(order, first_slot):
        is_new = levels[number] != before
        if is_new:
            before, turn = levels[number], 0
        meets = is_new and slot > first_slot
        places[number] = StagePlace(slot, meets, points[number] if meets else 0, turn)
        turn = (turn + groups[number]) % units
    return [places[number] for number in range(len(levels))]


class Regions(Generic[K]):
    """Where arguments of launches lie."""

    def __init__(self, by_argument: Mapping[K, Region]) -> None:
        self.by_argument = {**by_argument}
        self._users: dict[Region, int] = dict(Counter(by_argument.values()))
        self._alone = {*self._users}
        """The regions that overlap no other one."""
        self._spans: list[Region] = []
        """All bytes of regions in order: those that overlap are one."""
        for region in sorted(self._users):
            begin, end = region
            if self._spans and begin < self._spans[-1][1]:
                last = self._spans.pop()
                self._alone -= {region, last}
                begin, end = last[0], max(last[1], end)
            self._spans.append((begin, end))

    def move(self, changed: Mapping[K, Region]) -> bool:
        """Let some arguments lie elsewhere, if launches must wait for the same ones as before: all that used a region
        use another one instead, and neither overlaps any besides. Else nothing happens, and False. What ends this
        halfway leaves neither."""
        moves: dict[Region, Region] = {}
        for argument, region in changed.items():
            before = self.by_argument.get(argument)
            if before is None or moves.setdefault(before, region) != region:
                return False
        if not self._alone >= moves.keys() or len(changed) != sum(map(self._users.__getitem__, moves)):
            return False
        spans = self._spans.copy()
        for before in moves:
            del spans[bisect_left(spans, before)]
        for region in moves.values():
            place = bisect_left(spans, region)
            if any(_overlap(region, other) for other in spans[max(place - 1, 0):place + 1]):
                return False
            spans.insert(place, region)
        self.by_argument.update(changed)
        counts = [*map(self._users.pop, moves)]
        self._users.update(zip(moves.values(), counts, strict=True))
        self._alone.difference_update(moves)
        self._alone.update(moves.values())
        self._spans = spans
        return True


def independent(read: Sequence[Region], uses: Sequence[Collection[Use]]) -> bool:
    """Whether no launch with one of these uses writes where others read."""
    return not any(use.is_written and _overlap(region, use[:2]) for launch in uses for use in launch for region in read)


def _overlap(one: Region, other: Region) -> bool:
    return one[0] < other[1] and other[0] < one[1]
