"""Slots: tensors that are alive together never share one."""
from __future__ import annotations

import itertools

import numpy as np

from clinfer.program.memory_plan import LiveRange, assign_slots


def test_overlapping_ranges_have_different_slots(rng: np.random.Generator) -> None:
    ranges = []
    for i in range(60):
        first = int(rng.integers(0, 50))
        ranges.append(LiveRange(str(i), first, first + int(rng.integers(0, 8)), int(rng.integers(1, 1000))))
    slots, count = assign_slots(ranges)
    assert set(slots) == set(range(count))
    for a in range(len(ranges)):
        for b in range(a):
            if slots[a] == slots[b]:
                assert ranges[a].last < ranges[b].first or ranges[b].last < ranges[a].first


def test_a_chain_needs_two_slots() -> None:
    slots, count = assign_slots([LiveRange(str(i), i, i + 1, 100) for i in range(10)])
    assert count == 2
    assert all(a != b for a, b in itertools.pairwise(slots))
