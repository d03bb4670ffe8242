"""The numbers of a segment by place: sizes, elements of values, bytes and offsets; of arrays of the host their
identities."""
from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import itemgetter

Names = tuple[int | str, ...]
"""Numbers that never change, and names of those that may."""
Get = Callable[[Sequence[int]], tuple[int, ...]]
GetRows = Callable[[Sequence[int]], Iterable[tuple[int, ...]]]


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


def getter_of_rows(rows: Sequence[tuple[int, ...]]) -> GetRows:
    """What takes the numbers at several rows of places out of a row."""
    lengths, get = {*map(len, rows)}, getter_of(tuple(chain.from_iterable(rows)))
    if len(lengths) == 1 and 0 not in lengths:
        length = lengths.pop()
        return lambda numbers: zip(*[iter(get(numbers))] * length, strict=True)
    getters = [*map(getter_of, rows)]
    return lambda numbers: [get_one(numbers) for get_one in getters]
