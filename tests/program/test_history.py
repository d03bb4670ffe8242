"""What a graph remembers of the primitives that passes took out."""
from __future__ import annotations

import numpy as np

from clinfer.ops.convert import Convert
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.matmul import MatMul
from clinfer.ops.shape_of import ShapeOf
from clinfer.ops.softmax import Softmax
from clinfer.program.history import History, Removal
from clinfer.program.passes import (
    Pass,
    fuse_bias,
    infer_layouts,
    keep_weights_narrow,
    propagate_constants,
    remove_needless_nodes,
)
from clinfer.runtime.engine import Engine
from clinfer.topology import Constant, Input, Port, Topology
from tests.program.building import constant, given, graph_after


def removals(engine: Engine, topology: Topology, *passes: Pass) -> dict[str, tuple[str, str]]:
    """(fate, into) of each removed primitive."""
    graph = graph_after(engine, topology, (infer_layouts, *passes))
    return {r.primitive: (r.fate, r.into) for r in graph.history.removals(graph)}


def test_a_fused_addition_and_its_constant_went_into_the_product(engine: Engine) -> None:
    topology = Topology(
        given("x", 3, 4), constant("weights", np.ones((4, 5), np.float32)), constant("bias", np.ones(5, np.float32)),
        MatMul("product", ("x", "weights")), Eltwise("sum", ("product", "bias"), mode="Add"),
        Softmax("soft", ("sum",), axis=1))
    assert removals(engine, topology, fuse_bias, remove_needless_nodes) == {
        "sum": ("fused", "product"), "bias": ("fused", "product")}


def test_folded_primitives_became_a_constant(engine: Engine) -> None:
    topology = Topology(
        given("x", 90, 70), constant("large", np.ones((90, 70), np.float32)), Softmax("soft", ("large",), axis=1),
        Softmax("again", ("soft",), axis=1), Eltwise("sum", ("x", "again"), mode="Add"),
        given("y", 2, 3), ShapeOf("shape", ("y",)), outputs={"sum": "sum", "shape": "shape"})
    found = removals(engine, topology, propagate_constants, remove_needless_nodes)
    assert found["soft"] == found["again"] == ("folded", "again/folded")
    assert found["large"] == ("folded", "again/folded")
    assert found["shape"] == ("folded", "shape/folded")


def test_a_conversion_of_weights_went_into_the_kernel_that_reads_them(engine: Engine) -> None:
    topology = Topology(given("x", 3, 4), constant("weights", np.ones((4, 5), np.float16)),
                        Convert("wide", ("weights",), destination_type="f32"), MatMul("product", ("x", "wide")))
    assert removals(engine, topology, keep_weights_narrow, remove_needless_nodes) == {"wide": ("fused", "product")}


def test_what_no_output_needs_is_unused(engine: Engine) -> None:
    topology = Topology(given("x", 2, 3), Softmax("soft", ("x",), axis=1), Softmax("dead", ("soft",), axis=1),
                        Eltwise("dead_too", ("dead", "dead"), mode="Add"), outputs={"y": "soft"})
    found = removals(engine, topology, remove_needless_nodes)
    assert found == {"dead": ("unused", ""), "dead_too": ("unused", "")}


def test_a_chain_of_edits_is_followed_to_its_end() -> None:
    history = History()
    history.current_pass = "first"
    a, b, c, d = (Softmax(name, (Port("x"),), axis=0, origin=f"layer {name}") for name in "abcd")
    history.redirected("a", b)
    history.removed(a)
    history.current_pass = "second"
    history.redirected("b", Constant("k"))
    history.removed(b)
    history.left("c", "d")
    history.removed(d)
    history.removed(c)
    assert history.removals({"k"}) == (
        Removal("a", "Softmax", "layer a", "fused", "k", "first"),
        Removal("b", "Softmax", "layer b", "folded", "k", "second"),
        Removal("d", "Softmax", "layer d", "unused", "", "second"),
        Removal("c", "Softmax", "layer c", "unused", "", "second"))


def test_edits_in_a_circle_end() -> None:
    history = History()
    history.redirected("a", Input("b"))
    history.redirected("b", Input("a"))
    history.removed(Input("a"))
    history.removed(Input("b"))
    assert [r.fate for r in history.removals(set())] == ["unused", "unused"]
