"""The numbers of a segment by place: sizes, elements of values, bytes and offsets, also arrays of the host."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

Names = tuple[int | str, ...]
"""Numbers that never change, and names of those that may."""
Get = Callable[[Sequence[Any]], tuple[Any, ...]]


class Numbers(list[Any]):
    """One list, in which each name and each number that never changes has a place."""

    def __init__(self) -> None:
        super().__init__()
        self._places: dict[int | str, int] = {}

    def place(self, name: int | str) -> int:
        """The place of a name or of a number, which is there from now on."""
        found = self._places.get(name)
        if found is None:
            found = self._places[name] = len(self)
            self.append(None if isinstance(name, str) else name)
        return found

    def places(self, names: Names) -> tuple[int, ...]:
        """The place of each."""
        return tuple(map(self.place, names))

    def row(self, names: Sequence[str]) -> slice:
        """The places, in a row, of names that have none yet."""
        first = len(self)
        for name in names:
            self.place(name)
        assert len(self) == first + len(names)
        return slice(first, len(self))

    def getter(self, names: Names) -> Get:
        """What takes the numbers of these names out of the list."""
        return getter_of(self.places(names))


def getter_of(places: tuple[int, ...]) -> Get:
    """What takes the numbers at these places out of a list."""
    if not places:
        return lambda numbers: ()
    if len(places) == 1:
        only = places[0]
        return lambda numbers: (numbers[only],)
    return itemgetter(*places)
