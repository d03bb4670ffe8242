"""Shapes with dynamic dimensions."""
from __future__ import annotations

from collections.abc import Callable

import pytest

from clinfer.base.shape import ANY, UNBOUNDED, Dim, Size, admits, show, upper_estimate
from clinfer.symbolic.dimensions import NamedDim


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


@pytest.mark.parametrize("made, low, high", [
    (lambda d: d - 1, -1, UNBOUNDED), (lambda d: d + -1, -1, UNBOUNDED), (lambda d: -1 + d, -1, UNBOUNDED),
    (lambda d: (d - 4) // 2 + 1, -1, UNBOUNDED), (lambda d: 7 - d, -UNBOUNDED, 7),
    (lambda d: 0 - (5 - d), -5, UNBOUNDED), (lambda d: 0 - (5 - d) // 2, -2, UNBOUNDED),
    (lambda d: d * 2 - 3, -3, UNBOUNDED), (lambda d: d - Dim(2, 5), -5, UNBOUNDED),
    (lambda d: Dim(2, 5) - d, -UNBOUNDED, 5), (lambda d: d - ANY, -UNBOUNDED, UNBOUNDED),
    (lambda d: Dim(3, 9) - 4, -1, 5), (lambda d: Dim(3, 9) + Dim(1, 2), 4, 11)])
@pytest.mark.parametrize("open_size", [ANY, NamedDim(name="n")])
def test_what_is_computed_of_sizes_without_a_limit_has_none(made: Callable[[Dim], Dim], low: int, high: int,
                                                            open_size: Dim) -> None:
    found = made(open_size)
    assert (found.low, found.high) == (low, high)
