"""The passes that spare copies: which tensors may lie within which, and why not; what is read for parts of others."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.shape import ANY
from clinfer.ops.concat import Concat
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.reduce import Reduce
from clinfer.ops.slice import Slice
from clinfer.ops.softmax import Softmax
from clinfer.ops.split import Split
from clinfer.ops.transpose import Transpose
from clinfer.program.blobs.programs import load_program, save_program
from clinfer.program.graph import Graph
from clinfer.program.passes.add_required_reorders import add_required_reorders
from clinfer.program.passes.alias_buffers import alias_buffers
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.join_parts import join_parts
from clinfer.program.passes.mark_host_nodes import mark_host_nodes
from clinfer.program.passes.select_kernels import select_kernels
from clinfer.program.sample_sizes import Sample
from clinfer.runtime.engine import Engine
from clinfer.topology import Port, Primitive, Topology
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import assert_close
from tests.program.building import constant, context_of, given, graph_after, numbers

pytestmark = pytest.mark.usefixtures("overlapping")
PASSES = (infer_layouts, mark_host_nodes, join_parts, select_kernels, add_required_reorders, alias_buffers)


def _relu(id: str, source: str | Port) -> Eltwise:
    return Eltwise(id, (Port.of(source),), mode="Relu")


def _after(engine: Engine, *primitives: Primitive, outputs: dict[str, Port] | None = None) -> Graph:
    return graph_after(engine, Topology(*primitives, outputs=outputs), PASSES)


def _pairs(graph: Graph, id: str) -> list[tuple[str, str, bool]]:
    """(the tensor that may move, within which, whether it always does) of a node."""
    return [(str(shared.moved), str(shared.within), shared.is_certain) for shared in graph[id].aliases]


# -- which tensors may lie within which -------------------------------------------------------------


def test_a_joined_tensor_holds_what_kernels_make(engine: Engine) -> None:
    graph = _after(engine, given("x", ANY, 1024), _relu("a", "x"), _relu("b", "a"),
                   Concat("join", (Port("a"), Port("x"), Port("b"), Port("a")), axis=0), _relu("last", "join"))
    assert _pairs(graph, "join") == [("a", "join", False), ("b", "join", False)]
    assert dict(graph["join"].copies) == {1: "x is not made by a kernel", 3: "a lies within another tensor already"}


def test_static_shapes_decide_for_good(engine: Engine) -> None:
    graph = _after(engine, given("x", 3, 1024), _relu("a", "x"), _relu("b", "x"), _relu("c", "x"),
                   Concat("fits", (Port("a"), Port("b")), axis=0), Concat("apart", (Port("b"), Port("c")), axis=1),
                   Softmax("out", ("fits",), axis=0), Softmax("other", ("apart",), axis=0))
    assert _pairs(graph, "fits") == [("a", "fits", True), ("b", "fits", True)]
    assert not graph["apart"].aliases
    assert set(dict(graph["apart"].copies).values()) == {"the elements are no single run of bytes on both sides"}


def test_a_place_where_no_buffer_can_start(engine: Engine) -> None:
    graph = _after(engine, given("x", 5), _relu("a", "x"), _relu("b", "x"),
                   Concat("join", (Port("a"), Port("b")), axis=0), _relu("last", "join"))
    assert _pairs(graph, "join") == [("a", "join", True)]
    assert dict(graph["join"].copies) == {1: "no buffer of the device can start there"}


def test_an_output_keeps_its_memory_and_takes_what_is_copied_into_it(engine: Engine) -> None:
    graph = _after(engine, given("x", ANY, ANY, 8), numbers("order", 1, 0, 2), _relu("a", "x"), _relu("b", "x"),
                   Transpose("kept", ("a", "order")), Transpose("other", ("b", "order")),
                   outputs={"a": Port("a"), "kept": Port("kept"), "other": Port("other")})
    assert not graph["kept"].aliases and dict(graph["kept"].copies) == {0: "a is an output"}
    assert _pairs(graph, "other") == [("b", "other", False)]


def test_parts_lie_where_they_are_cut(engine: Engine) -> None:
    graph = _after(engine, given("x", ANY, 4, 1024), constant("axis", np.array(1)), numbers("one", 1),
                   numbers("two", 3), Split("split", ("x", "axis"), num_splits=2), _relu("left", Port("split", 0)),
                   _relu("right", Port("split", 1)), Slice("slice", ("left", "one", "two", "one", "one")),
                   Softmax("out", ("slice",), axis=0))
    assert _pairs(graph, "split") == [("split", "x", False), ("split:1", "x", False)]
    assert _pairs(graph, "slice") == [("slice", "left", False)]


def test_the_likelier_of_two_places(engine: Engine) -> None:
    """Transposed, the tensor lies within its source for one row only; within the joined one for any number."""
    graph = _after(engine, given("x", ANY, ANY, 1024), numbers("order", 0, 2, 1), _relu("a", "x"),
                   Transpose("turned", ("a", "order")), Concat("join", (Port("turned"), Port("turned")), axis=0),
                   _relu("last", "join"))
    assert _pairs(graph, "join") == [("turned", "join", False)] and not graph["turned"].aliases


# -- samples ----------------------------------------------------------------------------------------


def test_samples_follow_the_shape_rules(engine: Engine) -> None:
    topology = Topology(given("x", ANY, ANY, 3), given("y", ANY, ANY, 3),
                        Concat("join", (Port("x"), Port("y")), axis=1), numbers("order", 2, 0, 1),
                        Transpose("turned", ("join", "order")))
    graph = graph_after(engine, topology, PASSES[:2])
    sample = Sample(graph, context_of(engine), first=2, others=5)
    assert sample.layout(Port("x")).shape == (2, 5, 3)
    assert sample.layout(Port("turned")).shape == (3, 2, 10)


# -- parts of another tensor -------------------------------------------------------------------------


@pytest.mark.parametrize(("read", "axis", "expected"), [
    ((0, 1, 2), 1, ["x"]),
    ((-1, 0, 1, 2, -1), -2, ["y", "x", "y"]),
    ((0, 1), 1, ["split", "split:1"]),
    ((1, 0, 2), 1, ["split:1", "split", "split:2"]),
    ((0, 1, 2), 2, ["split", "split:1", "split:2"]),
    ((0, 1, 2, 0, 1, 2), 1, ["x", "x"]),
])
def test_parts_in_order_are_read_as_a_whole(engine: Engine, read: tuple[int, ...], axis: int,
                                            expected: list[str]) -> None:
    ports = tuple(Port("y") if number < 0 else Port("split", number) for number in read)
    graph = graph_after(engine, Topology(
        given("x", ANY, 6, ANY), given("y", ANY, 6, ANY), constant("axis", np.array(1)),
        Split("split", ("x", "axis"), num_splits=3), Concat("join", ports, axis=axis)), PASSES[:3])
    assert [str(port) for port in graph["join"].inputs] == expected


@pytest.mark.parametrize(("joined", "expected"), [
    ([("a", "b"), ("a", "b", "c"), ("a", "b", "c", "d")], [("a", "b"), ("0", "c"), ("1", "d")]),
    ([("a", "b", "c"), ("a", "b")], [("1", "c"), ("a", "b")]),
    ([("b", "c"), ("a", "b", "c"), ("a", "c", "b")], [("b", "c"), ("a", "0"), ("a", "c", "b")]),
    ([("a", "b"), ("a", "b")], [("a", "b"), ("a", "b")]),
    ([("a", "b"), ("c", "a", "b", "a", "b")], [("a", "b"), ("c", "0", "0")]),
])
def test_what_is_joined_elsewhere_is_read_as_a_whole(engine: Engine, joined: list[tuple[str, ...]],
                                                     expected: list[tuple[str, ...]]) -> None:
    graph = graph_after(engine, Topology(*(given(name, ANY, 6, ANY) for name in "abcd"), *(
        Concat(str(index), names, axis=-2) for index, names in enumerate(joined))), PASSES[:3])
    assert [tuple(map(str, graph[str(index)].inputs)) for index in range(len(joined))] == expected


def test_what_is_joined_along_another_axis_is_not(engine: Engine) -> None:
    graph = graph_after(engine, Topology(*(given(name, 6, 6, 6) for name in "abc"), Concat("one", ("a", "b"), axis=0),
                                         Concat("join", ("a", "b", "c"), axis=1)), PASSES[:3])
    assert tuple(map(str, graph["join"].inputs)) == ("a", "b", "c")


def test_all_that_layers_add_lies_in_one_tensor(engine: Engine, rng: np.random.Generator) -> None:
    """Where there is one batch no copy is made, however many layers read what was there before them."""
    parts: list[Primitive] = [given("x", ANY, 16, 4, 8), _relu("0", "x")]
    before = ["0"]
    for layer in range(1, 5):
        parts += [Concat(f"joined{layer}", tuple(before), axis=1)] if layer > 1 else []
        read = f"joined{layer}" if layer > 1 else "0"
        parts += [numbers(f"axis{layer}", 1),
                  Reduce(f"most{layer}", (read, f"axis{layer}"), mode="Max", keep_dims=True),
                  Eltwise(str(layer), ("0", f"most{layer}"), mode="Subtract")]
        before.append(str(layer))
    network = network_of(engine, Topology(*parts, Concat("y", tuple(before), axis=1)))
    for batch in (1, 2, 1):
        x = rng.standard_normal((batch, 16, 4, 8)).astype(np.float32)
        expected = [np.maximum(x, 0)]
        for _ in range(4):
            expected.append(expected[0] - np.concatenate(expected, 1).max(1, keepdims=True))
        assert_close(execute(network, [x])[0], np.concatenate(expected, 1), 1e-6, str(batch))
    joins = [node for node in network.program.nodes if isinstance(node.primitive, Concat)]
    assert len(joins) == 4 and all(len(node.inputs) == len(node.aliases) == 2 for node in joins)


# -- blobs ------------------------------------------------------------------------------------------


def test_a_loaded_program_shares_the_same_memory(engine: Engine) -> None:
    topology = Topology(given("x", ANY, 1024), _relu("a", "x"), Softmax("b", ("x",), axis=0),
                        Concat("join", (Port("a"), Port("b")), axis=0), Softmax("last", ("join",), axis=0))
    program = network_of(engine, topology).program
    loaded, _ = load_program(memoryview(b"".join(save_program(program, None, {}))), engine, {})
    assert [node.aliases for node in loaded.nodes] == [node.aliases for node in program.nodes]
    assert any(node.aliases for node in loaded.nodes)
