"""Where the nodes of a graph are drawn: in rows from top to bottom, edges pointing down, few crossings.

Source: Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of Hierarchical System Structures", 1981:
rows by longest paths, long edges cut by invisible nodes, order by barycentres; positions by least squares
under a least distance, solved exactly per row by pooling adjacent violators.
"""
from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

COLUMN, ROW = 232.0, 112.0
"""Distances between the centres of neighbours."""

_LANE = 28.0
"""The same between two invisible nodes."""

_SWEEPS = 8


@dataclass(frozen=True)
class Drawing:
    """Centres (x, y) of the nodes, and per edge the points through which it goes, its ends included."""

    nodes: tuple[tuple[float, float], ...]
    edges: tuple[tuple[tuple[float, float], ...], ...]
    width: float
    height: float


def draw_graph(count: int, edges: Sequence[tuple[int, int]]) -> Drawing:
    """Lay out nodes 0 to `count` - 1; every edge (from, to) must lead to a higher number."""
    if not count:
        return Drawing((), (), 0.0, 0.0)
    grid = _Grid(count, edges)
    for sweep in range(_SWEEPS):
        grid.order(downwards=sweep % 2 == 0)
    for sweep in range(_SWEEPS):
        grid.move(downwards=sweep % 2 == 0)
    left = min(grid.x)
    place = [(grid.x[v] - left, grid.row[v] * ROW) for v in range(len(grid.x))]
    return Drawing(tuple(place[:count]), tuple(tuple(place[v] for v in path) for path in grid.paths),
                   max(x for x, _ in place), max(y for _, y in place))


class _Grid:
    """The nodes in their rows; numbers from `count` on are invisible nodes of long edges."""

    def __init__(self, count: int, edges: Sequence[tuple[int, int]]) -> None:
        self._count = count
        self.row = _rows(count, edges)
        self._above: list[list[int]] = [[] for _ in range(count)]
        self._below: list[list[int]] = [[] for _ in range(count)]
        self.paths = [self._thread(source, target) for source, target in edges]
        self.rows: list[list[int]] = [[] for _ in range(max(self.row) + 1)]
        for node, row in enumerate(self.row):
            self.rows[row].append(node)
        self.x = [0.0] * len(self.row)
        for members in self.rows:
            for position, node in enumerate(members):
                self.x[node] = position * COLUMN

    def _thread(self, source: int, target: int) -> list[int]:
        path = [source]
        for row in range(self.row[source] + 1, self.row[target]):
            path.append(len(self.row))
            self.row.append(row)
            self._above.append([])
            self._below.append([])
        path.append(target)
        for upper, lower in itertools.pairwise(path):
            self._below[upper].append(lower)
            self._above[lower].append(upper)
        return path

    def order(self, downwards: bool) -> None:
        """Sort each row by the barycentres of its neighbours in the row before."""
        neighbours = self._above if downwards else self._below
        for members in self.rows if downwards else reversed(self.rows):
            wish = {node: _mean([self.x[n] for n in neighbours[node]], self.x[node]) for node in members}
            members.sort(key=lambda node: wish[node])
            for position, node in enumerate(members):
                self.x[node] = position * COLUMN

    def move(self, downwards: bool) -> None:
        """Move each row's nodes towards their neighbours in the row before, keeping order and distance."""
        neighbours = self._above if downwards else self._below
        for members in self.rows if downwards else reversed(self.rows):
            wishes = [_mean([self.x[n] for n in neighbours[node]], self.x[node]) for node in members]
            gaps = [self._gap(a, b) for a, b in itertools.pairwise(members)]
            for node, x in zip(members, _spread(wishes, gaps), strict=True):
                self.x[node] = x

    def _gap(self, left: int, right: int) -> float:
        invisible = (left >= self._count) + (right >= self._count)
        return (COLUMN, (COLUMN + _LANE) / 2, _LANE)[invisible]


def _rows(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """One row below the lowest of what a node reads; what reads nothing stands right above its first reader."""
    sources: list[list[int]] = [[] for _ in range(count)]
    targets: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        sources[target].append(source)
        targets[source].append(target)
    row = [0] * count
    for node in range(count):
        row[node] = max((row[s] + 1 for s in sources[node]), default=0)
    for node in range(count):
        if not sources[node] and targets[node]:
            row[node] = min(row[t] for t in targets[node]) - 1
    return row


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _spread(wishes: list[float], gaps: list[float]) -> list[float]:
    """The positions nearest to the wishes (least squares) that keep the gaps between neighbours."""
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    blocks: list[tuple[float, int]] = []
    for wish, offset in zip(wishes, offsets, strict=True):
        total, size = wish - offset, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / size:
            before = blocks.pop()
            total, size = total + before[0], size + before[1]
        blocks.append((total, size))
    bases = [total / size for total, size in blocks for _ in range(size)]
    return [base + offset for base, offset in zip(bases, offsets, strict=True)]
