"""Decides once which tensors share a slot: those whose live ranges do not overlap.

Memory dependencies are those of an in-order queue. Sizes are estimates where shapes are dynamic;
they only guide the choice, since every network grows its slots to what the actual shapes need.
"""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.tracing import log


@dataclass(frozen=True)
class LiveRange:
    """A buffer that lives from step `first` to step `last`, both included, of about `size` bytes."""

    name: str
    first: int
    last: int
    size: int


def assign_slots(ranges: list[LiveRange]) -> tuple[list[int], int]:
    """The slot of each range and the number of slots (greedy by size: the largest choose first).

    Source: greedy-by-size of Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
    Inference", 2020, with whole slots in place of offsets because sizes change at run time.
    """
    slots: list[list[LiveRange]] = []
    chosen = [-1] * len(ranges)
    for index in sorted(range(len(ranges)), key=lambda i: (-ranges[i].size, ranges[i].first)):
        chosen[index] = _fitting_slot(slots, ranges[index])
        log(6, f"slot {chosen[index]}: {ranges[index]}")
    return chosen, len(slots)


def _fitting_slot(slots: list[list[LiveRange]], wanted: LiveRange) -> int:
    for number, held in enumerate(slots):
        if all(wanted.last < other.first or other.last < wanted.first for other in held):
            held.append(wanted)
            return number
    slots.append([wanted])
    return len(slots) - 1
