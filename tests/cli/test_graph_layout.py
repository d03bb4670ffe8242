"""Drawings of graphs: rows, distances, edges that lead down."""
from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pytest

from clinfer.cli.graph_layout import COLUMN, ROW, draw_graph


def test_nothing_and_one_node() -> None:
    assert draw_graph(0, []).nodes == ()
    assert draw_graph(1, []).nodes == ((0.0, 0.0),)


def test_a_chain_is_a_straight_line() -> None:
    drawing = draw_graph(5, [(i, i + 1) for i in range(4)])
    assert {x for x, _ in drawing.nodes} == {0.0} and [y / ROW for _, y in drawing.nodes] == [0, 1, 2, 3, 4]


def test_a_diamond_is_symmetric_and_a_shortcut_goes_around() -> None:
    drawing = draw_graph(5, [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (0, 4)])
    _, (left, _), (right, _), (bottom, _), _ = drawing.nodes
    assert abs(left - right) >= COLUMN and len(drawing.edges[5]) == 4
    assert min(left, right) < bottom < max(left, right)


def test_what_reads_nothing_stands_right_above_its_reader() -> None:
    drawing = draw_graph(5, [(0, 1), (1, 2), (2, 4), (3, 4)])
    assert drawing.nodes[3][1] == drawing.nodes[4][1] - ROW


@pytest.mark.parametrize("count", [30, 300])
def test_random_graphs(count: int, rng: np.random.Generator) -> None:
    edges = sorted({(int(rng.integers(max(0, node - 12), node)), node) for node in range(1, count)
                    for _ in range(int(rng.integers(1, 4)))})
    drawing = draw_graph(count, edges)
    rows = defaultdict(list)
    for x, y in drawing.nodes:
        assert 0 <= x <= drawing.width and 0 <= y <= drawing.height
        rows[y].append(x)
    for members in rows.values():
        assert all(b - a > COLUMN - 1e-6 for a, b in itertools.pairwise(sorted(members)))
    for (source, target), path in zip(edges, drawing.edges, strict=True):
        assert path[0] == drawing.nodes[source] and path[-1] == drawing.nodes[target]
        assert all(b[1] - a[1] == ROW for a, b in itertools.pairwise(path))
