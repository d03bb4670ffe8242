"""From a seed to a case: a graph, inputs for several settings of its sizes, and what it has to give."""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tests.fuzz.case import PACKED, Case, Record
from tests.fuzz.draft import Draft, Tensor, dims_of
from tests.fuzz.graph import Dims, Graph, build, dtype_of
from tests.fuzz.operations import GROUPS, STYLES

KINDS = ("f32",) * 9 + ("i64", "i64", "i32", "f16", "boolean", "u8")
SIZES = (1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 0)
PICTURED = ("convolutions", "special", "rare", "seldom", "detecting")
"""Styles that begin with an image."""
LONG = (17, 31, 33, 64, 65, 130, 257)
"""Sizes around those of vectors and tiles."""
MOST_ELEMENTS = 2**21
"""Of an input; several axes may be of one long size."""


def generate(seed: int, report: Callable[[str], None] = lambda text: None) -> Case | None:
    """The case of a seed; None where nothing came of it. `report` hears what is about to be computed."""
    rng = np.random.default_rng([seed, 2026])
    style = list(STYLES)[int(rng.integers(len(STYLES)))]
    draft = Draft(rng, int(rng.integers(2, 5)))
    _start(draft, style)
    aliases = STYLES[style]
    names, weights = list(aliases), np.array(list(aliases.values())) / sum(aliases.values())
    wanted = draft.integer(2, 10)
    for _ in range(6 * wanted):
        make = draft.one(GROUPS[names[int(rng.choice(len(names), p=weights))]])
        report(f"{style}: {make.__name__} after {[step.op for step in draft.steps][-6:]}")
        wanted -= draft.attempt(make)
        if wanted <= 0:
            break
    return finished(draft, style)


def finished(draft: Draft, style: str) -> Case | None:
    """All tensors that nothing reads are outputs, and at times one that is read."""
    read = {ref for step in draft.steps for ref in step.refs}
    made = {step.name for step in draft.steps}
    ends = [t for t in draft.tensors if t.ref not in read and t.ref.name in made and t.type not in PACKED]
    others = [t for t in draft.tensors if t.ref in read and t.ref.name in made and t.type not in PACKED]
    if others and draft.chance(0.15):
        ends.append(draft.one(others))
    if not ends:
        return None
    graph = Graph(tuple(draft.inputs), tuple(draft.steps), tuple(t.ref for t in ends)).used()
    if draft.chance(0.08) and "Remember" not in graph.operations() and not _has_idle_loop(draft):
        graph = _without_ranks(graph)
    tensors = {t.ref: Record(t.type, dims_of(t.port.get_partial_shape()), tuple(t.values)) for t in draft.tensors}
    narrow = any(t.type == "f16" for t in draft.tensors)
    return Case(graph, tensors, 2e-2 if narrow else 1e-4, style)


def _has_idle_loop(draft: Draft) -> bool:
    """Whether a Loop joins the results of no run, whose sizes nothing but declared shapes tells."""
    loops = {step.name for step in draft.steps if step.op == "Loop"}
    return any(t.ref.name in loops and not all(v.size for v in t.values) for t in draft.tensors)


def _without_ranks(graph: Graph) -> Graph:
    """With inputs of open ranks, where OpenVINO makes a model of that."""
    opened = replace(graph, inputs=tuple(replace(given, dims=None) for given in graph.inputs))
    try:
        build(opened)
    except RuntimeError:
        return graph
    return opened


def _start(draft: Draft, style: str) -> None:
    """One to three inputs, which share sizes."""
    sizes = {name: [draft.one(SIZES) for _ in range(draft.settings)] for name in "BTW"} | {"O": [1] * draft.settings}
    if draft.chance(0.1):
        sizes["W"] = [draft.one(LONG) for _ in range(draft.settings)]
    image = style in PICTURED or (style == "mixed" and draft.chance(0.4))
    for number in range(draft.one([1, 1, 2, 2, 3])):
        rank = draft.one([3, 4, 4, 5]) if image and not number else 3 if style == "sequences" else draft.one(
            [0, 1, 2, 2, 3, 3, 4, 4, 5, 6])
        _data(draft, sizes, rank, draft.one(KINDS) if number else "f32", image and not number)
    if draft.chance(0.2):
        _vector(draft, sizes)


def _data(draft: Draft, sizes: dict[str, list[int]], rank: int, kind: str, image: bool) -> Tensor:
    """An input of random data: static sizes, and sizes that change with the setting and have names. (O, an open size,
    is always 1.)"""
    names: list[str | int] = [draft.one([*"BTW", *"BTWO", 1, 2, 3, 4, 8]) for _ in range(rank)]
    if image:
        names = [draft.one(["B", 1]), draft.one([1, 3, 8, 16, 16]), *(draft.one([*"TWTWO", 5, 8])
                                                                       for _ in range(rank - 2))]
    shapes = [tuple(sizes[n][s] if isinstance(n, str) else n for n in names) for s in range(draft.settings)]
    while max(map(math.prod, shapes)) > MOST_ELEMENTS:
        longest = max(range(rank), key=lambda axis: max(shape[axis] for shape in shapes))
        names[longest] = 1
        shapes = [(*shape[:longest], 1, *shape[longest + 1:]) for shape in shapes]
    bounded, most = draft.chance(0.2), max(20, *sizes["W"])
    dims: Dims = tuple(n if isinstance(n, int) and not draft.chance(0.1) else (0, most) if bounded else -1
                       for n in names)
    return draft.input(kind, dims, [random_values(draft.rng, kind, shape) for shape in shapes])


def random_values(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Multiples of 1/4 in [-2, 2]; integers in [-2, 5]."""
    if kind == "boolean":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if kind[0] == "f":
        return (rng.integers(-8, 9, shape) / 4).astype(dtype_of(kind))
    return rng.integers(0 if kind[0] == "u" else -2, 6, shape).astype(dtype_of(kind))


def _vector(draft: Draft, sizes: dict[str, list[int]]) -> None:
    """An input of small integers, as values come."""
    count = draft.integer(1, 3)
    draft.input("i64", (count,), [draft.rng.integers(0, 5, count) for _ in range(draft.settings)])
