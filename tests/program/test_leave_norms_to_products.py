"""The pass that lets products normalise their rows: before and after, and when it keeps away."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.row_norm import RowNorm
from clinfer.base.shape import ANY, Dim
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.matmul import MatMul
from clinfer.ops.mvn import MVN
from clinfer.program.options import BuildOptions
from clinfer.program.passes.fuse_eltwise import fuse_eltwise
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.leave_norms_to_products import leave_norms_to_products
from clinfer.program.passes.mark_host_nodes import mark_host_nodes
from clinfer.runtime.engine import Engine
from clinfer.topology import Port, Primitive, Topology
from tests.ops.ptx import write_out
from tests.program.building import constant, given, graph_after, numbers

PASSES = (infer_layouts, mark_host_nodes, fuse_eltwise, leave_norms_to_products)
DEPTH = 64


@pytest.fixture(autouse=True)
def on_a_cpu(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    if engine.device.type != "CPU":
        pytest.skip("made for CPUs, with a kernel that is written out")
    write_out(monkeypatch, MatMul, "matmul_few")


def _model(*others: Primitive, rows: object = ANY, kind: str = "f16", centre: bool = False) -> Topology:
    """Two products of normalised rows of `x`, to one of which `x` is added, and other primitives."""
    numbers_of = np.float16 if kind == "f16" else np.float32
    weights = [constant(f"w{n}", np.ones((DEPTH, DEPTH), numbers_of)) for n in range(2)]
    return Topology(given("x", rows, DEPTH, kind=kind), numbers("axes", -1), *weights,
                    constant("scale", np.ones(DEPTH, numbers_of)),
                    MVN("norm", ("x", "axes"), eps=1e-5, centre=centre),
                    Eltwise("rows", ("scale", "norm"), mode="Multiply"),
                    MatMul("first", ("rows", "w0"), transpose_b=True), Eltwise("sum", ("x", "first"), mode="Add"),
                    MatMul("second", ("rows", "w1"), transpose_b=True), *others)


def test_products_read_what_is_normalised(engine: Engine) -> None:
    graph = graph_after(engine, _model(), PASSES)
    norm, first, second = (graph[name].primitive for name in ("norm", "first", "second"))
    assert isinstance(norm, MVN) and norm.left_to_readers == 8
    assert isinstance(first, MatMul) and isinstance(second, MatMul)
    assert first.left_norm == second.left_norm == RowNorm(1e-5, 8)
    weight = norm.inputs[2]
    assert second.inputs == (Port("norm"), Port("w1"), Port("x"), weight)
    assert first.inputs == (Port("norm"), Port("w0"), Port("x"), weight, Port("x"))
    assert [fused.operands for fused in first.fused_ops] == [(4, None)]
    assert first.bias_input is None and first.norm_inputs == (2, 3)


@pytest.mark.parametrize("topology, options", [
    (_model(Eltwise("other", ("rows",), mode="Exp")), BuildOptions()),
    (_model(MatMul("square", ("rows", "rows"), transpose_b=True)), BuildOptions()),
    (_model(rows=9), BuildOptions()),
    (_model(rows=Dim(9, 20)), BuildOptions()),
    (_model(kind="f32"), BuildOptions()),
    (_model(centre=True), BuildOptions()),
    (_model(), BuildOptions({"second": ("", "matmul_ref")})),
    (_model(), BuildOptions({"norm": ("", "mvn_ref")})),
], ids=["read by others", "read as a right side", "many rows", "always many rows", "f32", "less the mean",
        "another product is wanted", "a kernel is wanted"])
def test_it_stays_away(engine: Engine, topology: Topology, options: BuildOptions) -> None:
    graph = graph_after(engine, topology, PASSES, options)
    assert not any(isinstance(node.primitive, MatMul) and node.primitive.left_norm for node in graph)
    assert not any(isinstance(node.primitive, MVN) and node.primitive.left_to_readers for node in graph)
