"""How many bytes slots need."""
from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import overload

Needs = Sequence[tuple[int, int]]
"""(slot, bytes)."""


class SlotBytes(Sequence[tuple[int, int]]):
    """(slot, bytes) of some slots, as two rows. Plans of one segment share the first one, and an object each would be
    many for Python's collector."""

    __slots__ = ("nbytes", "slots")

    def __init__(self, slots: tuple[int, ...], nbytes: array[int]) -> None:
        self.slots = slots
        self.nbytes = nbytes

    @classmethod
    def of(cls, needs: Mapping[int, int]) -> SlotBytes:
        """The bytes by slot."""
        return cls(tuple(needs), array("q", needs.values()))

    def beside(self, others: Iterable[tuple[int, int]]) -> SlotBytes:
        """These and others."""
        others = tuple(others)
        return SlotBytes((*self.slots, *[slot for slot, _ in others]),
                         self.nbytes + array("q", [nbytes for _, nbytes in others])) if others else self

    def __len__(self) -> int:
        return len(self.slots)

    @overload
    def __getitem__(self, index: int) -> tuple[int, int]: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[tuple[int, int], ...]: ...
    def __getitem__(self, index: int | slice) -> tuple[int, int] | tuple[tuple[int, int], ...]:
        return tuple(self)[index]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.slots, self.nbytes, strict=True)


def rows_of(needs: Needs) -> tuple[Sequence[int], Sequence[int]]:
    """The slots and the bytes."""
    if isinstance(needs, SlotBytes):
        return needs.slots, needs.nbytes
    return tuple([slot for slot, _ in needs]), tuple([nbytes for _, nbytes in needs])
