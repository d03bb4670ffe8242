"""Tables of stages for launches that came before."""
from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass

from clinfer.runtime.launches import PlannedLaunches
from clinfer.runtime.stage_table import StageTable

_MOST = 64


@dataclass(eq=False)
class SeenTable:
    """A table, and how often arguments had changed (`ArgumentChanges.count`) when they last were in it."""

    table: StageTable
    changes: int


class SeenTables:
    """The latest tables of one run of launches, each for what was planned at least twice: sizes that come again, with
    others in between, cost no more than the same ones over and over."""

    def __init__(self, make: Callable[[], StageTable]) -> None:
        self._make = make
        self._noted: weakref.WeakSet[PlannedLaunches] = weakref.WeakSet()
        self._tables: weakref.WeakKeyDictionary[PlannedLaunches, SeenTable] = weakref.WeakKeyDictionary()

    def __contains__(self, planned: PlannedLaunches) -> bool:
        return planned in self._tables

    def of(self, planned: PlannedLaunches | None) -> SeenTable | None:
        """The table of what is planned, which is the latest one from now on; None if there is none."""
        seen = None if planned is None else self._tables.pop(planned, None)
        if planned is not None and seen is not None:
            self._tables[planned] = seen
        return seen

    def note(self, planned: PlannedLaunches) -> bool:
        """Whether it was noted before that this was launched."""
        was_noted = planned in self._noted
        self._noted.add(planned)
        return was_noted

    def room(self) -> StageTable:
        """A table to be filled and `put`. If there are many, it is the oldest one's; what was launched by that is ahead
        of everything on the queue."""
        is_full = len(self._tables) >= _MOST
        return self._tables.pop(next(iter(self._tables))).table if is_full else self._make()

    def put(self, planned: PlannedLaunches, seen: SeenTable) -> None:
        """Let it be the table of what is planned."""
        self._tables[planned] = seen

    def forget(self) -> None:
        """Let there be no tables."""
        self._tables.clear()
