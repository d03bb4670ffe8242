"""Shapes with dynamic dimensions."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

from clinfer.base.errors import ClinferError
from clinfer.base.shape import ANY, Dim, NamedDim, Size, add_sizes, admits, broadcast_shapes, show, upper_estimate


def test_a_broadcast_admits_every_shape_that_its_inputs_allow(rng: np.random.Generator) -> None:
    for _ in range(300):
        dims: list[Size] = []
        for _ in range(2):
            low = int(rng.integers(0, 3))
            dims.append(low if rng.random() < 0.3 else Dim(low, low + int(rng.integers(0, 3))))
        try:
            declared = broadcast_shapes(((dims[0],), (dims[1],)))
        except ClinferError:
            declared = None
        for sizes in itertools.product(*(range(7) for _ in dims)):
            if not all(admits((d,), (s,)) for d, s in zip(dims, sizes, strict=True)):
                continue
            if sizes[0] == sizes[1] or 1 in sizes:
                actual = np.broadcast_shapes((sizes[0],), (sizes[1],))
                assert declared is not None and admits(declared, actual), f"{dims} {sizes} {declared}"


def test_sums_of_equal_sizes_have_one_name() -> None:
    a, b = NamedDim(1, 8, "a"), NamedDim(0, 4, "b")
    total = add_sizes((a, 3, b))
    assert total == add_sizes((add_sizes((b, 1)), 2, a))
    assert isinstance(total, Dim) and (total.low, total.high) == (4, 15)
    assert len({add_sizes(sizes) for sizes in ((a, b), (a, a), (a, 1), (b, 1), (a, a, b), (a,))}) == 6
    assert add_sizes((a, 0)) == a and add_sizes((2, 3)) == 5 and add_sizes((a, Dim(1, 2))) == Dim(2, 10)


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
