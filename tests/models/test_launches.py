"""How many kernels a layer of the transformers launches."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from bench.models import bert, llama, vit, whisper
from clinfer.frontend.reader import to_topology
from clinfer.frontend.transformations import prepare
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from tests.deferring import Selection
from tests.oracle import ov

LAYERS: dict[str, tuple[Callable[[int], ov.Model], int]] = {
    "bert": (lambda n: bert.build(size=replace(bert.TINY, layers=n)), 7),
    "vit": (lambda n: vit.build(size=32, layers=n, hidden=64, heads=4, classes=5), 7),
    "whisper": (lambda n: whisper.build(frames=40, layers=n, hidden=48, heads=3, positions=20), 7),
    "llama": (lambda n: llama.build(size=replace(llama.TINY, layers=n)), 10),
    "llama_grouped": (lambda n: llama.build(size=replace(llama.TINY_GROUPED, layers=n)), 10),
}
"""A model of so many layers, and the kernels of a layer on a GPU."""


def _launches(engine: Engine, name: str, layers: int, skipped: tuple[str, ...] = (), precision: str = "f32") -> int:
    build, _ = LAYERS[name]
    options = BuildOptions(skipped_passes=frozenset(skipped))
    program = Selection(engine).program(to_topology(prepare(build(layers), precision)).topology, options)
    return sum(not stage.source[1].startswith("sdpa_pack_") for node in program.nodes if node.kind == "kernel"
               for stage in node.implementations[0].stages)


@pytest.mark.parametrize("precision", ["f32", "f16"])
@pytest.mark.parametrize("name", LAYERS)
def test_launches_of_a_layer(engine: Engine, name: str, precision: str) -> None:
    """Packing keys and values, as attention on CPUs does for many queries, counts as a part of it."""
    counts = [_launches(engine, name, layers, precision=precision) for layers in (1, 2)]
    assert counts[1] - counts[0] == LAYERS[name][1]


def test_passes_save_launches(engine: Engine) -> None:
    passes = ("fuse_rms", "fuse_rope", "group_heads", "read_parts", "join_projections")
    counts = [_launches(engine, "llama_grouped", 1, passes[i:]) for i in range(len(passes) + 1)]
    assert all(fewer < more for more, fewer in pairwise(counts)), counts
