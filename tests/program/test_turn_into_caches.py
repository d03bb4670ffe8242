"""The pass that lets rotary positions be written where a cache grows: what it takes, and that it computes the same."""
from __future__ import annotations

import numpy as np
import pytest

import clinfer
from bench.models import llama
from clinfer.base.element_type import ElementType
from clinfer.base.shape import ANY, Shape
from clinfer.ops.concat import Concat
from clinfer.ops.convert import Convert
from clinfer.ops.rope import RoPE
from clinfer.program import passes
from clinfer.program.graph import Graph
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.turn_into_caches import turn_into_caches
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.engine import Engine
from clinfer.topology import Port, Primitive, State, Topology
from tests.oracle import assert_close
from tests.program.building import given, graph_after

SHAPE: Shape = (ANY, 2, ANY, 8)


def _graph(engine: Engine, *others: Primitive, outputs: tuple[str, ...] = (), grows: bool = True,
           sides: tuple[str, ...] = ("stored", "turned"), axis: int = 0) -> Graph:
    """A cache that grows by what RoPE makes of `new`."""
    turned = RoPE("turned", (Port("new"), Port("cosine"), Port("sine")))
    parts = (given("stored", ANY, 1, 2, 8), given("new", ANY, 1, 2, 8), given("cosine", ANY, 1, 1, 8),
             given("sine", ANY, 1, 1, 8), turned, Concat("cache", tuple(map(Port, sides)), axis=axis), *others)
    state = State("keys", "stored", "cache", (1, 2, ANY, 8), ElementType.of("f32"), order=(2, 0, 1, 3), grows=grows)
    topology = Topology(*parts, outputs={name: Port(name) for name in ("cache", *outputs)}, states=(state,))
    return graph_after(engine, topology, (infer_layouts, turn_into_caches))


def test_what_a_cache_grows_by(engine: Engine) -> None:
    for axis in (0, -4):
        graph = _graph(engine, axis=axis)
        cache = graph["cache"].primitive
        assert isinstance(cache, RoPE) and cache.behind == 0 and "turned" not in graph
        assert cache.inputs == (Port("new"), Port("cosine"), Port("sine"), Port("stored"))


@pytest.mark.parametrize("graph", [
    {"outputs": ("turned",)}, {"grows": False}, {"sides": ("turned", "stored")},
    {"sides": ("stored", "turned", "new")}])
def test_what_stays_as_it_is(engine: Engine, graph: dict[str, object]) -> None:
    assert isinstance(_graph(engine, **graph)["cache"].primitive, Concat)  # type: ignore[arg-type]


def test_what_something_else_reads(engine: Engine) -> None:
    other = Convert("other", (Port("turned"),), destination_type="f16")
    assert isinstance(_graph(engine, other, outputs=("other",))["cache"].primitive, Concat)


@pytest.mark.parametrize("beams", [1, 3])
def test_a_text_is_the_same(device: DeviceInfo, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch,
                            beams: int) -> None:
    """Several tokens at a time, one at a time, and from the beginning again; rows that are selected anew each time."""
    model, size = llama.build_stateful(llama.TINY_GROUPED), llama.TINY_GROUPED
    texts = [(rng.integers(0, size.vocabulary, (beams, length)), rng.integers(0, beams, beams).astype(np.int32))
             for length in (5, 1, 1, 7, 1)]
    results: list[list[np.ndarray]] = []
    for kept in (passes.PIPELINE, tuple(run for run in passes.PIPELINE if run is not turn_into_caches)):
        monkeypatch.setattr(passes, "PIPELINE", kept)
        compiled = clinfer.Core().compile_model(model, device.name, {"INFERENCE_PRECISION_HINT": "f32"})
        behind = [node.primitive.behind for node in compiled.program.nodes if isinstance(node.primitive, RoPE)]
        assert sum(axis is not None for axis in behind) == (size.layers if turn_into_caches in kept else 0)
        request = compiled.create_infer_request()
        results.append([])
        for _ in range(2):
            request.reset_state()
            for tokens, selected in texts:
                found = request.infer({"tokens": tokens, "beam_idx": selected})
                results[-1].append(next(iter(found.values())).copy())
    for one, other in zip(*results, strict=True):
        assert_close(one, other, 1e-5, "with and without the pass")
