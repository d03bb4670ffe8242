"""Shapes with dynamic dimensions."""
from __future__ import annotations

import pytest

from clinfer.base.shape import ANY, Dim, Size, admits, show, upper_estimate


def test_shapes_as_users_read_them() -> None:
    assert show((1, 3, ANY, Dim(2), Dim(1, 8))) == "[1,3,?,2..,1..8]"
    assert show(None) == "[...]"


@pytest.mark.parametrize("declared, actual, fits", [
    (None, (1, 2), True), ((ANY, 2), (5, 2), True), ((ANY, 2), (5, 3), False), ((Dim(1, 4),), (5,), False),
    ((ANY,), (1, 1), False)])
def test_what_a_declared_shape_admits(declared: tuple[Size, ...] | None, actual: tuple[int, ...], fits: bool) -> None:
    assert admits(declared, actual) is fits


def test_estimates_keep_to_the_bounds() -> None:
    assert upper_estimate((3, ANY, Dim(1, 8), Dim(100))) == (3, 64, 8, 100)
