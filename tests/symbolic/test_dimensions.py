"""Named dimensions: what is computed of them."""
from __future__ import annotations

import itertools

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.shape import Dim, Size, admits
from clinfer.symbolic.dimensions import NamedDim, broadcast_shapes


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
    total = a + 3 + b
    assert total == (b + 1) + 2 + a == sum((a, 3, b))
    assert isinstance(total, Dim) and (total.low, total.high) == (4, 15)
    assert len({sum(sizes) for sizes in ((a, b), (a, a), (a, 1), (b, 1), (a, a, b), (a,))}) == 6
    assert a + 0 == a and a + Dim(1, 2) == Dim(2, 10) and a + b - a == b and a - a == 0 and 2 * a == a + a


def test_names_of_what_is_computed_tell_how(rng: np.random.Generator) -> None:
    """Random expressions, put together in two orders: one name if they are equal, and never for different sizes."""
    named = [NamedDim(1, 9, name) for name in "abc"]
    samples = [tuple(int(size) for size in rng.integers(1, 10, 3)) for _ in range(20)]
    found: dict[Size, tuple[int, ...]] = {}
    for _ in range(2000):
        made: list[tuple[Size, tuple[int, ...]]] = [
            (size, tuple(sample[i] for sample in samples)) for i, size in enumerate(named)]
        for _ in range(int(rng.integers(1, 4))):
            (left, lefts), (right, rights) = (made[i] for i in rng.integers(0, len(made), 2))
            number, sign = int(rng.integers(1, 4)), str(rng.choice(["+", "-", "*", "n*", "+n", "//n", "%n"]))
            size, sizes = {
                "+": lambda a, b: (a[0] + b[0], [x + y for x, y in zip(a[1], b[1], strict=True)]),
                "-": lambda a, b: (a[0] - b[0], [x - y for x, y in zip(a[1], b[1], strict=True)]),
                "*": lambda a, b: (a[0] * b[0], [x * y for x, y in zip(a[1], b[1], strict=True)]),
                "n*": lambda a, b, n=number: (n * a[0], [n * x for x in a[1]]),
                "+n": lambda a, b, n=number: (a[0] + n, [x + n for x in a[1]]),
                "//n": lambda a, b, n=number: (a[0] // n, [x // n for x in a[1]]),
                "%n": lambda a, b, n=number: (a[0] % n, [x % n for x in a[1]])}[sign]((left, lefts), (right, rights))
            made.append((size, tuple(sizes)))
        size, sizes = made[-1]
        if isinstance(size, int):
            assert set(sizes) == {size}
            continue
        assert found.setdefault(size, sizes) == sizes, size
        assert all(size.admits(x) for x in sizes), f"{size!r}: {sizes}"
    assert len(set(found.values())) > 0.5 * len(found)
