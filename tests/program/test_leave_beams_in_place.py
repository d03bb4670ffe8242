"""The pass that lets attention find rows of caches by a table: which caches it takes."""
from __future__ import annotations

from dataclasses import replace

import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.part import Part
from clinfer.base.shape import ANY, Shape
from clinfer.ops.concat import Concat
from clinfer.ops.convert import Convert
from clinfer.ops.sdpa import ScaledDotProductAttention
from clinfer.ops.shape_of import ShapeOf
from clinfer.program.graph import Graph
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.leave_beams_in_place import leave_beams_in_place
from clinfer.runtime.engine import Engine
from clinfer.topology import Input, Port, Primitive, State, Topology
from tests.program.building import given, graph_after

SHAPE: Shape = (ANY, 2, ANY, 8)
ROWS = Part((1, 2, 0, 3))
"""What is stored as [length, batch, heads, size] as [batch, heads, length, size]."""


def _cache(name: str, kind: str) -> tuple[Primitive, ...]:
    """What is stored of a variable, what is new, and both."""
    stored, new = (given(f"{name}/{which}", ANY, ANY, 2, 8, kind=kind) for which in ("stored", "new"))
    return stored, new, Concat(name, (Port(stored.id), Port(new.id)))


def _state(name: str, kind: str, length: str = "length", selected_by: str = "beams") -> State:
    return State(name, f"{name}/stored", name, SHAPE, ElementType.of(kind), order=(2, 0, 1, 3), grows=True,
                 selected_by=selected_by, sizes=(length, selected_by, "", ""))


def _graph(engine: Engine, *others: Primitive, states: tuple[State, ...] = (), rows: Part = ROWS, key: str = "key",
           outputs: tuple[str, ...] = (), kind: str = "f32") -> Graph:
    """Attention to the caches `key` and `value`; `key`: what it reads in place of the first."""
    attention = ScaledDotProductAttention("attention", (Port("query"), Port(key), Port("value")),
                                          parts=(None, rows, rows))
    parts = (given("query", ANY, 2, ANY, 8), given("beams", ANY, kind="i32"), *_cache("key", kind), *_cache(
        "value", "f32"), *others, attention)
    shown = {name: Port(name) for name in ("attention", "key", "value")}
    shown |= {f"{name}/shown": Port(name) for name in outputs}
    topology = Topology(*parts, outputs=shown, states=states or (_state("key", kind), _state("value", "f32")))
    return graph_after(engine, topology, (infer_layouts, leave_beams_in_place))


def _tables(graph: Graph) -> list[bool]:
    attentions = [node for node in graph if isinstance(node.primitive, ScaledDotProductAttention)]
    for node in attentions:
        by_table = isinstance(node.primitive, ScaledDotProductAttention) and node.primitive.by_table
        tables = {state.table for state in graph.states if state.table}
        assert by_table == ({node.inputs[-1].primitive} == tables)
        assert all(isinstance(graph[table].primitive, Input) and table in graph.input_names for table in tables)
    return [bool(state.table) for state in graph.states]


def test_attention_alone(engine: Engine) -> None:
    graph = _graph(engine, ShapeOf("sizes", (Port("key"),)), outputs=("sizes",))
    assert _tables(graph) == [True, True]
    assert graph["attention"].inputs == (Port("query"), Port("key"), Port("value"), Port("beams/table"))


def test_keys_of_another_type(engine: Engine) -> None:
    widened = Convert("wide", (Port("key"),), destination_type="f32")
    assert _tables(_graph(engine, widened, key="wide", kind="f16")) == [True, True]
    assert _tables(_graph(engine, widened, key="wide", kind="f16", outputs=("wide",))) == [False, False]


@pytest.mark.parametrize("name", ["key", "value"])
def test_a_cache_that_is_an_output(engine: Engine, name: str) -> None:
    assert _tables(_graph(engine, outputs=(name,))) == [False, False]


def test_a_cache_that_something_else_reads(engine: Engine) -> None:
    for read in ("key", "key/stored"):
        other = Convert("other", (Port(read),), destination_type="f16")
        assert _tables(_graph(engine, other, outputs=("other",))) == [False, False]


def test_an_attention_to_one_of_the_caches(engine: Engine) -> None:
    """What takes out its caches takes out those of the other attention, too."""
    other = ScaledDotProductAttention("other", (Port("query"), Port("key"), Port("query")), parts=(None, ROWS, None))
    assert _tables(_graph(engine, other, outputs=("other",))) == [False, False]


@pytest.mark.parametrize("change", [{"sizes": ("", "beams", "", "")}, {"sizes": ("other", "beams", "", "")},
                                    {"selected_by": ""}, {"grows": False}])
def test_caches_that_are_unlike(engine: Engine, change: dict[str, object]) -> None:
    states = _state("key", "f32"), replace(_state("value", "f32"), **change)  # type: ignore[arg-type]
    assert _tables(_graph(engine, states=states)) == [False, False]


@pytest.mark.parametrize("rows", [Part((0, 2, 1, 3)), ROWS.cut(0, 0, 1)])
def test_other_views(engine: Engine, rows: Part) -> None:
    assert _tables(_graph(engine, rows=rows)) == [False, False]
