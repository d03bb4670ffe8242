"""Each pass on small graphs: what is there before and after."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.format import Format
from clinfer.base.layout import NO_PADDING, Padding
from clinfer.base.shape import ANY
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.concat import Concat
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.gather import Gather
from clinfer.ops.matmul import MatMul
from clinfer.ops.pooling import MaxPool
from clinfer.ops.reduce import Reduce
from clinfer.ops.reorder import Reorder
from clinfer.ops.reshape import Reshape
from clinfer.ops.shape_of import ShapeOf
from clinfer.ops.softmax import Softmax
from clinfer.program.options import BuildOptions
from clinfer.program.passes.add_required_reorders import add_required_reorders
from clinfer.program.passes.fuse_bias import fuse_bias
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.mark_host_nodes import mark_host_nodes
from clinfer.program.passes.propagate_constants import propagate_constants
from clinfer.program.passes.remove_needless_nodes import remove_needless_nodes
from clinfer.program.passes.remove_redundant_reorders import remove_redundant_reorders
from clinfer.program.passes.select_kernels import select_kernels
from clinfer.program.schedule import assign_segments
from clinfer.runtime.engine import Engine
from clinfer.topology import Port, Primitive, Topology
from tests.ops.case_runner import execute
from tests.program.building import constant, context_of, given, graph_after, numbers

F32, I64 = ElementType.of("f32"), ElementType.of("i64")
SELECTED = (infer_layouts, mark_host_nodes, select_kernels)


def _ids(graph: object) -> list[str]:
    return [node.id for node in graph]  # type: ignore[attr-defined]


def _add(id: str, a: str, b: str, padding: Padding = NO_PADDING) -> Eltwise:
    return Eltwise(id, (a, b), output_padding=padding, mode="Add")


# -- fuse_bias --------------------------------------------------------------------------------------


def _product(bias: np.ndarray, *more: Primitive, outputs: dict[str, str] | None = None) -> Topology:
    weights = constant("weights", np.ones((4, 5), np.float32))
    return Topology(given("x", ANY, 4), weights, constant("bias", bias), MatMul("product", ("x", "weights")), *more,
                    outputs=outputs)


def test_an_added_row_becomes_the_bias(engine: Engine, rng: np.random.Generator) -> None:
    bias = rng.standard_normal(5).astype(np.float32)
    topology = _product(bias, _add("sum", "bias", "product"), Softmax("soft", ("sum",), axis=1))
    graph = graph_after(engine, topology, (infer_layouts, fuse_bias, remove_needless_nodes))
    assert _ids(graph) == ["x", "weights", "product/bias", "product", "soft"]
    assert graph["product"].inputs == (Port("x"), Port("weights"), Port("product/bias"))
    assert graph["soft"].inputs == (Port("product"),)
    assert graph.constants["product/bias"].layout.shape == (5,)


@pytest.mark.parametrize("bias, extra", [
    (np.ones((3, 5), np.float32), ()),
    (np.ones((5, 1), np.float32), ()),
    (np.ones((), np.float32), ()),
    (np.ones((1, 1, 5), np.float32), ()),
    (np.ones(5, np.float32), (Softmax("second", ("product",), axis=1),)),
], ids=["rows", "column", "number", "higher-rank", "read-twice"])
def test_other_additions_stay(engine: Engine, bias: np.ndarray, extra: tuple[Primitive, ...]) -> None:
    graph = graph_after(engine, _product(bias, _add("sum", "product", "bias"), *extra), (infer_layouts, fuse_bias))
    assert "sum" in graph and len(graph["product"].inputs) == 2


def test_a_product_that_is_an_output_itself_stays(engine: Engine) -> None:
    topology = _product(np.ones(5, np.float32), _add("sum", "product", "bias"),
                        outputs={"sum": "sum", "product": "product"})
    assert "sum" in graph_after(engine, topology, (infer_layouts, fuse_bias))


def test_the_padding_of_the_addition_stays(engine: Engine, rng: np.random.Generator) -> None:
    padding = Padding((1, 0), (0, 2))
    bias, x = rng.standard_normal(5).astype(np.float32), rng.standard_normal((3, 4)).astype(np.float32)
    topology = _product(bias, _add("sum", "product", "bias", padding))
    network = Network(compile_topology(engine, topology, OpenVinoShapeInference()), engine.create_stream(),
                      OpenVinoShapeInference())
    assert [node.type for node in network.program.explain().nodes] == ["Input", "MatMul"]
    result, = execute(network, [x])
    assert np.allclose(result, x @ np.ones((4, 5), np.float32) + bias, atol=1e-4)
    assert network.execute()["sum"].layout.padding == padding


# -- propagate_constants ----------------------------------------------------------------------------


def test_constants_are_computed_once(engine: Engine, rng: np.random.Generator) -> None:
    large, small = rng.standard_normal((90, 70)).astype(np.float32), np.array([2, 3], np.int64)
    topology = Topology(given("x", 90, 70), constant("large", large), constant("small", small),
                        Softmax("soft", ("large",), axis=1), _add("twice", "soft", "soft"), _add("sum", "x", "twice"),
                        _add("shape", "small", "small"), Reshape("flat", ("x", "pattern")), numbers("pattern", -1),
                        outputs={"sum": "sum", "shape": "shape", "flat": "flat"})
    graph = graph_after(engine, topology, (infer_layouts, propagate_constants, remove_needless_nodes))
    assert sorted(_ids(graph)) == sorted(["x", "twice/folded", "sum", "shape/folded", "pattern", "flat"])
    stream = context_of(engine).stream
    expected = np.exp(large - large.max(1, keepdims=True))
    expected = 2 * expected / expected.sum(1, keepdims=True)
    assert np.allclose(graph.constants["twice/folded"].on_host(stream), expected, rtol=1e-4, atol=1e-6)
    assert graph.constants["shape/folded"].on_host(stream).tolist() == [4, 6]


def test_the_shape_of_a_static_tensor_is_a_constant(engine: Engine) -> None:
    topology = Topology(given("x", 2, 3), given("y", ANY, 3), ShapeOf("a", ("x",)), ShapeOf("b", ("y",)))
    graph = graph_after(engine, topology, (infer_layouts, propagate_constants))
    assert "a" not in graph and "b" in graph
    assert graph.constants["a/folded"].on_host(context_of(engine).stream).tolist() == [2, 3]


# -- remove_needless_nodes --------------------------------------------------------------------------


def test_what_no_output_needs_goes_and_inputs_stay(engine: Engine) -> None:
    topology = Topology(given("x", 2, 3), given("unused", 4), Softmax("soft", ("x",), axis=1),
                        Softmax("dead", ("soft",), axis=1), _add("dead_too", "dead", "dead"), outputs={"y": "soft"})
    assert _ids(graph_after(engine, topology, (infer_layouts, remove_needless_nodes))) == ["x", "unused", "soft"]


# -- mark_host_nodes --------------------------------------------------------------------------------


def test_shape_arithmetic_is_marked_and_nothing_else(engine: Engine) -> None:
    topology = Topology(
        given("x", ANY, ANY), ShapeOf("shape", ("x",)), numbers("zero", 0), constant("axis", np.array(0)),
        Gather("rows", ("shape", "zero", "axis")), numbers("rest", -1), Concat("pattern", ("rows", "rest"), axis=0),
        Reshape("flat", ("x", "pattern")), Softmax("soft", ("flat",), axis=1))
    graph = graph_after(engine, topology, SELECTED)
    assert {n.id for n in graph if n.on_host} == {"shape", "rows", "pattern"}
    assert {n.id for n in graph if n.is_view} == {"flat"}
    assert set(assign_segments(graph).values()) == {0}


def test_a_value_from_the_device_starts_a_segment(engine: Engine) -> None:
    topology = Topology(given("x", ANY, 2, kind="i64"), numbers("axes", 0), given("y", ANY),
                        Reduce("total", ("x", "axes"), mode="Sum"), Reshape("shaped", ("y", "total")),
                        Softmax("soft", ("shaped",), axis=0))
    graph = graph_after(engine, topology, SELECTED)
    segments = assign_segments(graph)
    assert segments["total"] == 0 and segments["shaped"] == segments["soft"] == 1


# -- add_required_reorders --------------------------------------------------------------------------


def _pools() -> Topology:
    return Topology(given("x", 1, 32, 8, 8), MaxPool("a", ("x",), kernel=(2, 2)), MaxPool("b", ("x",), kernel=(2, 2)),
                    MaxPool("c", ("a",), kernel=(2, 2)))


def test_reorders_stand_where_layouts_differ(engine: Engine) -> None:
    forced = {"a": ("byxf", "pool_ref"), "b": ("byxf", "pool_ref"), "c": ("bfyx", "pool_ref")}
    graph = graph_after(engine, _pools(), (*SELECTED, add_required_reorders), BuildOptions(forced))
    reorders = {n.id: (str(n.inputs[0]), n.layouts[0].format.name) for n in graph if isinstance(n.primitive, Reorder)}
    assert sorted(reorders.values()) == [("a", "bfyx"), ("b", "bfyx"), ("x", "byxf")]
    for node in graph:
        if node.selection:
            wanted = [x.format for x in node.selection.problem.inputs]
            assert [graph.layout(p).format for p in node.inputs] == wanted
    assert all(graph.layout(p).format == Format.of("bfyx") for p in graph.outputs.values())


def test_an_output_that_asks_for_a_format_gets_it(engine: Engine) -> None:
    topology = Topology(given("x", 1, 32, 8, 8), Reorder("y", ("x",), format="yxfb"))
    graph = graph_after(engine, topology, (*SELECTED, add_required_reorders))
    assert _ids(graph) == ["x", "y"] and graph.layout(Port("y")).format == Format.of("yxfb")


# -- remove_redundant_reorders ----------------------------------------------------------------------

REORDERED = (*SELECTED, add_required_reorders, remove_redundant_reorders)


def test_reorders_that_undo_each_other_are_gone(engine: Engine) -> None:
    topology = Topology(given("x", 1, 32, 8, 8), Reorder("a", ("x",), format="byxf"),
                        Reorder("b", ("a",), format="yxfb"), Reorder("c", ("b",), format="bfyx"),
                        MaxPool("pool", ("c",), kernel=(2, 2)))
    graph = graph_after(engine, topology, REORDERED)
    assert _ids(graph) == ["x", "pool"] and graph["pool"].inputs == (Port("x"),)


def test_one_reorder_does_what_a_chain_does(engine: Engine, rng: np.random.Generator) -> None:
    padding = Padding((0, 0, 1, 2), (0, 0, 0, 1))
    topology = Topology(given("x", 2, 20, ANY, 5), Reorder("a", ("x",), output_padding=padding, format="b_fs_yx_fsv16"),
                        Reorder("b", ("a",), format="byxf"), Reorder("c", ("b",), format="b_fs_yx_fsv16"),
                        MaxPool("pool", ("c",), kernel=(2, 2)), outputs={"pool": "pool", "b": "b"})
    graph = graph_after(engine, topology, REORDERED)
    assert "a" not in graph and all(graph[id].inputs == (Port("x"),) for id in "bc")
    results = []
    x = rng.standard_normal((2, 20, 7, 5), dtype=np.float32)
    for skipped in (frozenset[str](), frozenset({"remove_redundant_reorders"})):
        program = compile_topology(engine, topology, OpenVinoShapeInference(), BuildOptions(skipped_passes=skipped))
        assert ("a" in [node.primitive.id for node in program.nodes]) == bool(skipped)
        network = Network(program, engine.create_stream(), OpenVinoShapeInference())
        results.append(execute(network, [x]))
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one, other)


def test_reorders_that_convert_stay(engine: Engine) -> None:
    topology = Topology(given("x", 1, 32, 8, 8), Reorder("a", ("x",), format="byxf", element_type="i32"),
                        Reorder("b", ("a",), format="bfyx", element_type="f32"))
    graph = graph_after(engine, topology, REORDERED)
    assert _ids(graph) == ["x", "a", "b"]


def test_a_reorder_that_is_an_output_stays(engine: Engine) -> None:
    topology = Topology(given("x", 1, 32, 8, 8), Reorder("a", ("x",), format="byxf"),
                        Reorder("b", ("a",), format="bfyx"))
    graph = graph_after(engine, topology, REORDERED)
    assert _ids(graph) == ["x", "b"] and graph["b"].inputs == (Port("x"),)


# -- errors -----------------------------------------------------------------------------------------


class _Nothing(Softmax):
    """A primitive that no operation knows."""


def test_a_primitive_without_kernels_is_refused_when_it_is_built(engine: Engine) -> None:
    with pytest.raises(ClinferError, match=r"no kernel computes[^$]*_Nothing 'n'"):
        compile_topology(engine, Topology(given("x", 2), _Nothing("n", ("x",), axis=0)), OpenVinoShapeInference())
