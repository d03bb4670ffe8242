"""An order of ids in which putting one before another and asking which stands last is cheap."""
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

_GAP = 1 << 256


class Order:
    """Ids in a ring of neighbours, whose two ends meet at None. Each has a number that grows along the order.

    What is put between two others gets the number in the middle; once there is none left, after 256 halvings at one
    place, all are numbered anew.
    """

    def __init__(self, ids: Iterable[str] = ()) -> None:
        self._ahead: dict[str | None, str | None] = {None: None}
        self._behind: dict[str | None, str | None] = {None: None}
        self._numbers: dict[str, int] = {}
        for id in ids:
            self.put(id)

    def __iter__(self) -> Iterator[str]:
        id = self._behind[None]
        while id is not None:
            yield id
            id = self._behind[id]

    def put(self, id: str, before: str | None = None) -> None:
        """Add an id right before another one, or at the end."""
        ahead = self._ahead[before]
        self._behind[ahead] = self._ahead[before] = id
        self._ahead[id], self._behind[id] = ahead, before
        low = 0 if ahead is None else self._numbers[ahead]
        high = low + 2 * _GAP if before is None else self._numbers[before]
        self._numbers[id] = (low + high) // 2
        if self._numbers[id] == low:
            self._numbers = {each: _GAP * number for number, each in enumerate(self, 1)}

    def remove(self, id: str) -> None:
        """Take an id out."""
        ahead, behind = self._ahead.pop(id), self._behind.pop(id)
        self._behind[ahead], self._ahead[behind] = behind, ahead
        del self._numbers[id]

    def last_of(self, ids: Collection[str]) -> str | None:
        """Which of these stands last; None of none."""
        return max(ids, key=self._numbers.__getitem__, default=None)
