"""Which buffers must not share memory: checked against all that may happen, for random programs."""
from __future__ import annotations

import itertools

import numpy as np

from clinfer.program.memory_dependencies import (
    Buffer,
    in_order_dependencies,
    out_of_order_dependencies,
    steps_before,
)


def _random_program(rng: np.random.Generator, steps: int) -> tuple[list[list[int]], list[Buffer]]:
    """What each step reads from, and its output as a buffer; every third step has a scratch buffer."""
    sources = [sorted({int(s) for s in rng.integers(0, step, rng.integers(1, 3))}) if step else []
               for step in range(steps)]
    buffers = [Buffer(str(step), step, frozenset([step, *(r for r in range(steps) if step in sources[r])]))
               for step in range(steps)]
    return sources, buffers + [Buffer(f"scratch {step}", step, frozenset([step])) for step in range(0, steps, 3)]


def _before(sources: list[list[int]], segments: list[int]) -> dict[int, int]:
    return dict(enumerate(steps_before(sources, segments)))


def test_in_order_buffers_alive_together_are_apart(rng: np.random.Generator) -> None:
    _, buffers = _random_program(rng, 30)
    found = in_order_dependencies(buffers)
    for i, j in itertools.permutations(range(len(buffers)), 2):
        one, other = buffers[i], buffers[j]
        assert (j in found[i]) == (one.made <= other.last and other.made <= one.last)


def _orders(sources: list[list[int]]) -> list[tuple[int, ...]]:
    return [order for order in itertools.permutations(range(len(sources)))
            if all(order.index(s) < order.index(step) for step, read in enumerate(sources) for s in read)]


def _always_before(orders: list[tuple[int, ...]], one: Buffer, other: Buffer) -> bool:
    return all(order.index(step) < order.index(other.made) for order in orders for step in one.touched)


def test_out_of_order_buffers_share_only_what_no_order_mixes(rng: np.random.Generator) -> None:
    """A pair may share memory exactly if in every order all that touches one comes before the other is made."""
    for _ in range(10):
        sources, buffers = _random_program(rng, 6)
        found = out_of_order_dependencies(buffers, _before(sources, [0] * 6))
        orders = _orders(sources)
        for i, j in itertools.permutations(range(len(buffers)), 2):
            one, other = buffers[i], buffers[j]
            may_share = _always_before(orders, one, other) or _always_before(orders, other, one)
            assert (j in found[i]) != may_share, sources


def test_in_order_dependencies_are_among_those_out_of_order(rng: np.random.Generator) -> None:
    sources, buffers = _random_program(rng, 40)
    ordered, free = in_order_dependencies(buffers), out_of_order_dependencies(buffers, _before(sources, [0] * 40))
    assert all(few <= many for few, many in zip(ordered, free, strict=True))


def test_segments_follow_one_another() -> None:
    """Two branches, once at the same time and once in two segments."""
    sources: list[list[int]] = [[], [0], [0], [1, 2]]
    buffers = [Buffer("a", 1, frozenset([1])), Buffer("b", 2, frozenset([2, 3]))]
    assert out_of_order_dependencies(buffers, _before(sources, [0] * 4)) == (frozenset([1]), frozenset([0]))
    assert out_of_order_dependencies(buffers, _before(sources, [0, 0, 1, 1])) == (frozenset(), frozenset())


def test_what_outlasts_the_execution_shares_with_nothing_made_later() -> None:
    buffers = [Buffer("output", 0, frozenset([0, 3])), Buffer("next", 1, frozenset([1, 2])),
               Buffer("last", 2, frozenset([2]))]
    assert in_order_dependencies(buffers)[0] == frozenset([1, 2])
    assert out_of_order_dependencies(buffers, _before([[], [0], [1]], [0] * 3))[0] == frozenset([1, 2])
