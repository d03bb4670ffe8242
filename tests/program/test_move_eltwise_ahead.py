"""The pass that lets element-wise primitives work before what only moves elements: before and after, and when not."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.shape import ANY
from clinfer.ops.broadcast import Broadcast
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.matmul import MatMul
from clinfer.ops.reshape import Reshape
from clinfer.ops.softmax import Softmax
from clinfer.ops.transpose import Transpose
from clinfer.program.options import BuildOptions
from clinfer.program.passes.fuse_eltwise import fuse_eltwise
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.mark_host_nodes import mark_host_nodes
from clinfer.program.passes.move_eltwise_ahead import move_eltwise_ahead
from clinfer.runtime.engine import Engine
from clinfer.topology import Port, Primitive, Topology
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.program.building import constant, given, graph_after, numbers

PASSES = (infer_layouts, mark_host_nodes, move_eltwise_ahead)
SKIPPED = BuildOptions(skipped_passes=frozenset({"move_eltwise_ahead"}))


def _behind_movers(*last: Primitive) -> Topology:
    """A product, seen as heads, transposed and broadcast; then what is given, which reads `wide`."""
    weights = np.sin(np.arange(24, dtype=np.float32)).reshape(4, 6)
    return Topology(given("x", ANY, 4), constant("w", weights), MatMul("product", ("x", "w")),
                    numbers("heads", 0, 3, 2), Reshape("split", ("product", "heads"), special_zero=True),
                    numbers("order", 1, 0, 2), Transpose("turned", ("split", "order")), numbers("shape", 2, 3, 1, 1),
                    Broadcast("wide", ("turned", "shape"), mode="bidirectional"),
                    constant("two", np.full((1, 1, 1, 1), 2, np.float32)), *last)


def _eltwise(id: str, mode: str, *inputs: str) -> Eltwise:
    return Eltwise(id, inputs, mode=mode)


def test_it_works_before_what_moves(engine: Engine, rng: np.random.Generator) -> None:
    topology = _behind_movers(_eltwise("power", "Subtract", "two", "wide"), _eltwise("relu", "Relu", "power"))
    graph = graph_after(engine, topology, PASSES)
    assert graph.outputs == {"relu": Port("wide")} and graph["split"].inputs[0] == Port("relu")
    assert graph.layout(Port("power")).shape == (ANY, 6)
    graph = graph_after(engine, topology, (*PASSES, fuse_eltwise))
    assert [fused.primitive.id for fused in graph["product"].primitive.fused_ops] == ["power", "relu"]
    fused, unfused = network_of(engine, topology), network_of(engine, topology, SKIPPED)
    for rows in (5, 1, 0, 3):
        x = rng.standard_normal((rows, 4)).astype(np.float32)
        assert np.allclose(execute(fused, [x])[0], execute(unfused, [x])[0], rtol=1e-5, atol=1e-6)
    hosts = [[node.primitive.id for node in n.program.nodes if node.primitive.fused_ops] for n in (fused, unfused)]
    assert hosts == [["product"], ["wide"]]


def test_constants_stay_before_all_their_readers(engine: Engine) -> None:
    early = Topology(given("x", ANY, 4), constant("two", np.array([2], np.float32)),
                     _eltwise("a", "Multiply", "x", "two"),
                     _eltwise("b", "Exp", "a"), numbers("shape", 0, 2, 2),
                     Reshape("r", ("b", "shape"), special_zero=True),
                     _eltwise("c", "Multiply", "r", "two"))
    late = Topology(given("x", ANY, 4), _eltwise("b", "Exp", "x"), numbers("shape", 0, 2, 2),
                    Reshape("r", ("b", "shape"), special_zero=True), constant("two", np.array([2], np.float32)),
                    _eltwise("c", "Multiply", "r", "two"))
    for topology in (early, late):
        graph = graph_after(engine, topology, PASSES)
        assert graph["r"].inputs[0] == Port("c") and graph.outputs == {"c": Port("r")}


@pytest.mark.parametrize("last", [
    (_eltwise("sum", "Add", "wide", "wide"), _eltwise("late", "Abs", "wide")),
    (constant("row", np.arange(2, dtype=np.float32)), _eltwise("sum", "Add", "wide", "row")),
    (Softmax("soft", ("split",), axis=1), _eltwise("sum", "Relu", "wide")),
    (_eltwise("sum", "Less", "wide", "two"),),
], ids=["read-twice", "a-row", "the-host-is-read", "boolean"])
def test_what_must_stay_behind(engine: Engine, last: tuple[Primitive, ...]) -> None:
    graph = graph_after(engine, _behind_movers(*last), PASSES)
    assert Port("wide") in graph["sum"].inputs
