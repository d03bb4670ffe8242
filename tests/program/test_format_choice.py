"""Formats are chosen so that reorders move as little as possible."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clinfer.base.layout import Layout
from clinfer.base.shape import ANY
from clinfer.kernels import selector
from clinfer.kernels.cost import reorder_time
from clinfer.kernels.selector import Selection
from clinfer.ops.concat import Concat
from clinfer.ops.convolution import Convolution
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.pooling import MaxPool
from clinfer.ops.reorder import Reorder
from clinfer.ops.reshape import Reshape
from clinfer.program import format_choice, kept_choices
from clinfer.program.format_choice import LayoutCandidate, choose_formats
from clinfer.program.graph import Graph
from clinfer.program.options import BuildOptions
from clinfer.program.passes.add_required_reorders import add_required_reorders
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.mark_host_nodes import mark_host_nodes
from clinfer.program.passes.select_kernels import select_kernels
from clinfer.runtime.ceilings import Ceilings
from clinfer.runtime.engine import Engine
from clinfer.topology import Primitive, Topology
from tests.program.building import constant, context_of, given, graph_after, numbers

PREPARED = (infer_layouts, mark_host_nodes)
PASSES = (*PREPARED, select_kernels, add_required_reorders)


@pytest.fixture(autouse=True)
def on_cpus(engine: Engine) -> None:
    """Only there kernels want different formats."""
    if engine.device.type != "CPU":
        pytest.skip("all kernels for other devices want planar tensors")


def _convolution(id: str, source: str, inputs: int, outputs: int, size: int = 3) -> tuple[Primitive, Primitive]:
    weights = constant(f"{id}/weights", np.ones((outputs, inputs, size, size), np.float32))
    ones = (1, 1)
    return weights, Convolution(id, (source, weights.id), strides=ones, dilations=ones, pads_begin=(size // 2,) * 2,
                                pads_end=(size // 2,) * 2)


def _flat(id: str, source: str) -> tuple[Primitive, Primitive]:
    return numbers(f"{id}/pattern", 1, -1), Reshape(id, (source, f"{id}/pattern"))


def _formats(graph: Graph) -> dict[str, str]:
    return {node.id: node.layouts[0].format.name for node in graph if node.selection}


def test_a_convolution_writes_what_its_reader_reads(engine: Engine) -> None:
    """Of wide vectors; narrow ones have other formats that are as fast."""
    engine = Engine(engine.device, replace(engine.capabilities, vector_floats=16, float_products=False))
    topology = Topology(given("x", 1, 3, ANY, ANY), *_convolution("a", "x", 3, 64), *_convolution("b", "a", 64, 64),
                        Eltwise("sum", ("b", "b"), mode="Add"), *_flat("flat", "sum"))
    graph = graph_after(engine, topology, PASSES)
    moved = [node.inputs[0].primitive for node in graph if isinstance(node.primitive, Reorder)]
    assert all(source in graph.constants for source in moved)
    assert [_formats(graph)[id] for id in ("a", "b", "sum")] == ["b_fs_yx_fsv16", "bfyx", "bfyx"]


def test_one_reorder_serves_where_readers_differ(engine: Engine) -> None:
    topology = Topology(given("x", 1, 3, ANY, ANY), *_convolution("a", "x", 3, 64), *_convolution("b", "a", 64, 64),
                        *_convolution("c", "a", 64, 32), *_flat("one", "a"), *_flat("two", "a"),
                        outputs={"b": "b", "c": "c", "one": "one", "two": "two"})
    graph = graph_after(engine, topology, PASSES)
    moved = [str(node.inputs[0]) for node in graph if isinstance(node.primitive, Reorder)]
    assert [source for source in moved if source not in graph.constants and source not in "bc"] == ["a"]


def _cost(graph: Graph, candidates: dict[str, LayoutCandidate], ceilings: Ceilings) -> float:
    """What a choice costs in nanoseconds: each layout that readers want of a tensor is made once."""
    total, wanted = 0.0, set()
    for node in graph:
        selection = candidates[node.id].selection
        total += selection.cost if selection else 0.0
        wanted |= {(port, layout) for port, layout in zip(node.inputs, candidates[node.id].inputs, strict=True)
                   if layout is not None and port.primitive not in graph.constants}
    wanted |= {(port, format_choice.plain(graph.layout(port))) for port in graph.outputs.values()}
    for port, layout in wanted:
        present = candidates[port.primitive].outputs[port.index]
        if present != layout:
            total += reorder_time(ceilings, present.byte_size + layout.byte_size)
    return total


def _random_chain(rng: np.random.Generator) -> Topology:
    """Convolutions, additions, poolings and reshapes, each reading the one before; additions also the input."""
    channels, size = int(rng.integers(1, 40)), int(rng.integers(4, 40))
    parts: list[Primitive] = [given("x", 1, channels, size, size), given("z", 1, 1, 1, 1)]
    last = "x"
    for number in range(int(rng.integers(2, 6))):
        id, kind = f"n{number}", rng.integers(4)
        if kind == 0:
            outputs = int(rng.integers(1, 40))
            parts += _convolution(id, last, channels, outputs, int(rng.choice([1, 3])))
            channels = outputs
        elif kind == 1:
            parts.append(Eltwise(id, (last, "z"), mode="Add"))
        elif kind == 2:
            parts.append(MaxPool(id, (last,), kernel=(3, 3), pads_begin=(1, 1), pads_end=(1, 1)))
        else:
            parts += [numbers(f"{id}/pattern", 1, channels, size, size), Reshape(id, (last, f"{id}/pattern"))]
        last = id
    return Topology(*parts)


def test_of_chains_the_cheapest_choice_is_found(engine: Engine, rng: np.random.Generator,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    """All choices are tried one by one."""
    monkeypatch.setattr(selector, "ALIKE", 1e9)
    seen = 0
    for _ in range(25):
        graph = graph_after(engine, _random_chain(rng), PREPARED)
        context = context_of(engine)
        made: dict[str, LayoutCandidate] = {}
        found: list[format_choice._Choice] = []
        monkeypatch.setattr(format_choice, "_Choice", _kept(found))
        made = choose_formats(graph, context, {node.id for node in graph if _launches(graph, node.id)})
        if not found:
            continue
        choice, = found
        candidates, ceilings = choice._candidates, engine.capabilities.ceilings
        costs = [_cost(graph, dict(zip(candidates, picked, strict=True)), ceilings)
                 for picked in itertools.product(*candidates.values())]
        assert _cost(graph, made, ceilings) == pytest.approx(min(costs))
        seen += max(costs) > min(costs)
    assert seen


def _launches(graph: Graph, id: str) -> bool:
    return isinstance(graph[id].primitive, Convolution | Eltwise | MaxPool)


def _kept(found: list[format_choice._Choice]) -> Callable[..., format_choice._Choice]:
    original = format_choice._Choice

    def make(*arguments: object) -> format_choice._Choice:
        found.append(original(*arguments))  # type: ignore[arg-type]
        return found[-1]
    return make


def test_a_join_works_in_blocks_where_most_comes_so(engine: Engine) -> None:
    topology = Topology(given("x", 1, 3, 40, 40), *_convolution("a", "x", 3, 64), *_convolution("b", "a", 64, 64),
                        Concat("join", ("a", "b"), axis=1), *_convolution("c", "join", 128, 64))
    assert _formats(graph_after(engine, topology, PASSES))["join"] == "b_fs_yx_fsv16"


def _chosen(engine: Engine, size: int = 3, second: str = "b", options: BuildOptions | None = None,
            ) -> list[tuple[Selection | None, tuple[Layout, ...]]]:
    """What is chosen for the nodes of a small net, in their order."""
    topology = Topology(given("x", 1, 3, ANY, ANY), *_convolution("a", "x", 3, 64, size),
                        *_convolution(second, "a", 64, 64), Eltwise("sum", (second, second), mode="Add"),
                        *_flat("flat", "sum"))
    graph = graph_after(engine, topology, PASSES, options)
    return [(node.selection, node.layouts) for node in graph if not isinstance(node.primitive, Reorder)]


def test_a_choice_that_is_kept_is_the_choice(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found whatever nodes are called, and by nothing that differs; files that are damaged or of other code are
    written anew."""
    fresh, renamed = _chosen(engine), _chosen(engine, second="c")
    judged = []
    judge = format_choice._judge_all
    monkeypatch.setattr(format_choice, "_judge_all", lambda *given: judged.append(1) or judge(*given))
    monkeypatch.setattr(kept_choices, "FEWEST", 1)
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(tmp_path))

    def is_judged(wanted: object, **how: Any) -> bool:
        judged.clear()
        assert _chosen(engine, **how) == wanted
        return bool(judged)

    assert [is_judged(fresh), is_judged(fresh), is_judged(renamed, second="c")] == [True, False, False]
    file, = (tmp_path / "choices").iterdir()
    for damaged in (b"", b"[]", file.read_bytes()[:-20], file.read_bytes().replace(b"convolution", b"revolution")):
        file.write_bytes(damaged)
        assert [is_judged(fresh), is_judged(fresh)] == [True, False]
    monkeypatch.setattr(kept_choices, "code_stamp", lambda: "edited")
    assert [is_judged(fresh), is_judged(fresh)] == [True, False]
    judged.clear()
    _chosen(engine, size=5)
    _chosen(engine, options=BuildOptions(large_indices=True))
    forced = BuildOptions(force_implementations={"b": ("bfyx", "")})
    assert _chosen(engine, options=forced) == _chosen(engine, options=forced)
    assert len(judged) == 4


@pytest.mark.parametrize(("large", "share", "slower"), [(1300.0, 1.0, 1.3), (900.0, 1.0, 1.0), (1300.0, 0.01, 1.0)])
def test_what_loses_much_of_a_larger_sample_counts_as_slower(engine: Engine, large: float, share: float,
                                                             slower: float) -> None:
    """By more than twice, and more than a twentieth of what the whole sample takes."""
    graph = graph_after(engine, Topology(given("x", 1, 3, 4, 4), Eltwise("sum", ("x", "x"), mode="Add")),
                        (*PREPARED, select_kernels))
    selection = graph["sum"].selection
    assert selection is not None

    def candidate(usual: float, *times: float) -> LayoutCandidate:
        return LayoutCandidate((), (), replace(selection, cost=usual), dict(enumerate((usual, *times))))

    few, even = candidate(10, 1, large), candidate(12, 90, 1000 / selector.FAR_SLOWER)
    rest = candidate(1, 1, (1 - share) / share * 1000)
    weighed = format_choice._weighed({"a": (few, even), "rest": (rest,)}, 3)
    assert [each.slower for each in weighed["a"]] == pytest.approx([slower, 1.0]) and weighed["rest"] == [rest]
    assert weighed["a"][0].cost == pytest.approx(10 * slower)
    free = candidate(0, 0, 0)
    weighed = format_choice._weighed({"a": (few, free), "rest": (candidate(1, 1, 2),)}, 3)
    assert 1 < weighed["a"][0].slower < float("inf") and weighed["a"][1] == free
