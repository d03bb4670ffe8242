"""Slices along an axis: how many there are and where each begins."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.errors import ClinferError
from clinfer.topology import Slicing


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize(("start", "end"), [(0, -1), (2, -3), (-7, 5)])
def test_slices_cover_their_part_of_the_axis_once(size: int, start: int, end: int) -> None:
    axis = np.arange(10)
    part = axis[start % 10:end % 10 + 1]
    part = part[:len(part) // size * size]
    last = int(part[-1])
    forwards, backwards = Slicing(0, start, last, size), Slicing(0, last, start, size, backwards=True)
    pieces = [part[i:i + size].tolist() for i in range(0, len(part), size)]
    for slicing, wanted in ((forwards, pieces), (backwards, pieces[::-1])):
        count = slicing.count(10)
        assert [axis[at:at + size].tolist() for at in (slicing.offset(n, 10) for n in range(count))] == wanted


def test_an_empty_axis_has_no_slices() -> None:
    assert Slicing(0).count(0) == 0


@pytest.mark.parametrize(("slicing", "length"), [
    (Slicing(0, 0, -1, 2), 5), (Slicing(0, 3, 1), 5), (Slicing(0, 0, 5), 5), (Slicing(0, 0, -1, 1, True), 5),
    (Slicing(0, -6, -1), 5)])
def test_slices_that_the_axis_does_not_have(slicing: Slicing, length: int) -> None:
    with pytest.raises(ClinferError, match="cannot be cut"):
        slicing.count(length)
