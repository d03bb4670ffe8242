"""The numbers of a segment by place: sizes, elements of values, bytes and offsets; of arrays of the host their
identities."""
from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from operator import itemgetter

Names = tuple[int | str, ...]
"""Numbers that never change, and names of those that may."""
Get = Callable[[Sequence[int]], tuple[int, ...]]


class Places:
    """Of a row of numbers the place of each name and of each number that never changes."""

    def __init__(self) -> None:
        self._places: dict[int | str, int] = {}

    def numbers(self) -> array[int]:
        """The row at first: names stand for 0 until they are given numbers."""
        return array("q", [0 if isinstance(name, str) else name for name in self._places])

    def place(self, name: int | str) -> int:
        """The place of a name or of a number, which has one from now on."""
        return self._places.setdefault(name, len(self._places))

    def places(self, names: Names) -> tuple[int, ...]:
        """The place of each."""
        return tuple(map(self.place, names))

    def row(self, names: Sequence[str]) -> slice:
        """The places, in a row, of names that have none yet."""
        first = len(self._places)
        for name in names:
            self.place(name)
        assert len(self._places) == first + len(names)
        return slice(first, len(self._places))

    def getter(self, names: Names) -> Get:
        """What takes the numbers of these names out of the row."""
        return getter_of(self.places(names))


def getter_of(places: tuple[int, ...]) -> Get:
    """What takes the numbers at these places out of a row."""
    if not places:
        return lambda numbers: ()
    if len(places) == 1:
        only = places[0]
        return lambda numbers: (numbers[only],)
    return itemgetter(*places)
