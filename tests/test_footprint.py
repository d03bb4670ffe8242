"""Processes of tests stay small."""
from __future__ import annotations

from functools import cache, lru_cache
from mmap import mmap

import numpy as np
import pytest

from tests.footprint import LEAST_GROWTH, Dropping, resident_bytes


@lru_cache(maxsize=1)
def _large() -> object:
    return object()


@cache
def _small() -> object:
    return object()


@pytest.mark.parametrize("most_bytes", [0, 1 << 50])
def test_a_large_process_drops_what_tests_cache(most_bytes: int) -> None:
    before = _large(), _small()
    Dropping().drop_unless_small(most_bytes)
    after = _large(), _small()
    assert [one is other for one, other in zip(before, after, strict=True)] == (
        [bool(most_bytes), True])


def test_what_was_left_is_dropped_when_the_process_has_grown() -> None:
    dropping = Dropping()
    dropping.drop_unless_small(0)
    kept = _large()
    dropping.drop_unless_small(0)
    assert _large() is kept
    held = np.ones(LEAST_GROWTH + (32 << 20), np.uint8)
    dropping.drop_unless_small(0)
    assert held[-1] and (_large() is not kept) == bool(resident_bytes())


def test_resident_bytes() -> None:
    before = resident_bytes()
    # Its own pages: the allocator may hand out what the process holds already.
    held = np.frombuffer(mmap(-1, 64 << 20), np.uint8)
    held[:] = 1
    assert before == 0 or 48 << 20 < resident_bytes() - before < 80 << 20
    assert held[-1]
