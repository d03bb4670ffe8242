"""The pass that lets what caches grow by be written there: what it takes, and that it computes the same."""
from __future__ import annotations

import numpy as np
import pytest

import clinfer
from bench.models import llama
from clinfer.base.element_type import ElementType
from clinfer.base.part import Part
from clinfer.base.shape import ANY, Shape
from clinfer.ops.append import Append
from clinfer.ops.concat import Concat
from clinfer.ops.convert import Convert
from clinfer.ops.matmul import MatMul
from clinfer.ops.rope import RoPE
from clinfer.ops.transpose import Transpose
from clinfer.program import passes
from clinfer.program.graph import Graph
from clinfer.program.options import BuildOptions
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.turn_into_caches import turn_into_caches
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.engine import Engine
from clinfer.topology import Constant, Input, Port, Primitive, State, Topology
from tests.network.running import network_of
from tests.ops.case_runner import execute
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


def _moved(engine: Engine, *others: Primitive, outputs: tuple[str, ...] = (), kind: str = "f32") -> Graph:
    """A cache [1, 2, length, 8] that grows by heads which a projection [1, length, 2, 8] has in another order."""
    parts = (given("stored", 1, 2, ANY, 8), Input("new", shape=(1, ANY, 2, 8), element_type=ElementType.of(kind)),
             Constant("order", value=np.array([0, 2, 1, 3])), Transpose("moved", (Port("new"), Port("order"))),
             Concat("cache", (Port("stored"), Port("moved")), axis=-2), *others)
    state = State("values", "stored", "cache", (1, 2, ANY, 8), ElementType.of("f32"), grows=True)
    topology = Topology(*parts, outputs={name: Port(name) for name in ("cache", *outputs)}, states=(state,))
    return graph_after(engine, topology, (infer_layouts, turn_into_caches))


def test_what_is_moved_is_read_where_it_lies(engine: Engine) -> None:
    graph = _moved(engine)
    cache = graph["cache"].primitive
    assert isinstance(cache, Append) and cache.axis == 2 and cache.inputs == (Port("new"), Port("stored"))
    assert cache.part(0, 4).axes == (0, 2, 1, 3) and "moved" not in graph
    # What somebody else reads stays for them.
    graph = _moved(engine, outputs=("moved",))
    assert isinstance(graph["cache"].primitive, Append) and "moved" in graph


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("heads", [1, 2])
def test_a_part_of_a_tensor_is_appended(engine: Engine, rng: np.random.Generator, heads: int, large: bool) -> None:
    """A part of some heads, with a batch, before lengths of 0 and more, and of none."""
    part = Part((0, 2, 1, 3), ((2, 1, 1 + heads),))
    inputs = (Input("data", shape=(ANY, ANY, 4, 8)), Input("before", shape=(ANY, heads, ANY, 8)))
    append = Append("whole", (Port("data"), Port("before")), axis=2, parts=(part,))
    network = network_of(engine, Topology(*inputs, append, outputs={"whole": Port("whole")}),
                         BuildOptions(large_indices=large))
    for batch, length, stored in ((1, 3, 5), (2, 1, 7), (1, 1, 0), (3, 0, 4), (1, 6, 1)):
        data = rng.standard_normal((batch, length, 4, 8), np.float32)
        before = rng.standard_normal((batch, heads, stored, 8), np.float32)
        found, = execute(network, [data, before])
        wanted = np.concatenate([before, data[:, :, 1:1 + heads].transpose(0, 2, 1, 3)], 2)
        np.testing.assert_array_equal(found, wanted)


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
        appended = [node for node in compiled.program.nodes if isinstance(node.primitive, Append)]
        assert len(appended) == (size.layers if turn_into_caches in kept else 0)
        products = [node for node in compiled.program.nodes if isinstance(node.primitive, MatMul)]
        assert len(products) == size.layers * (5 if turn_into_caches in kept else 6) + 1
        request = compiled.create_infer_request()
        results.append([])
        for _ in range(2):
            request.reset_state()
            for tokens, selected in texts:
                found = request.infer({"tokens": tokens, "beam_idx": selected})
                results[-1].append(next(iter(found.values())).copy())
    for one, other in zip(*results, strict=True):
        assert_close(one, other, 1e-5, "with and without the pass")
