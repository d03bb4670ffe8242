"""The pass that moves factors of channels into what reads the product: before and after, and when it keeps away."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clinfer.base.shape import ANY
from clinfer.ops.convolution import Convolution, GroupConvolution
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.reduce import Reduce
from clinfer.program.options import BuildOptions
from clinfer.program.passes.fuse_eltwise import fuse_eltwise
from clinfer.program.passes.fuse_factor import fuse_factor
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.mark_host_nodes import mark_host_nodes
from clinfer.runtime.engine import Engine
from clinfer.topology import Port, Primitive, Topology
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.program.building import constant, given, graph_after, numbers

PASSES = (infer_layouts, mark_host_nodes, fuse_eltwise, fuse_factor)
SKIPPED = BuildOptions(skipped_passes=frozenset({"fuse_factor"}))


def _weights(id: str, *shape: int) -> Primitive:
    return constant(id, (np.sin(np.arange(np.prod(shape))) / 4).astype(np.float32).reshape(shape))


def _convolution(id: str, data: str, weights: str, pad: int = 0, *others: str) -> Convolution:
    return Convolution(id, (data, weights, *others), strides=(1, 1), dilations=(1, 1), pads_begin=(pad, pad),
                       pads_end=(pad, pad))


def _excited(*last: Primitive) -> Topology:
    """Squeeze and excitation of `x`, 20 channels, and what reads the product."""
    return Topology(given("x", ANY, 20, ANY, ANY), numbers("axes", 2, 3),
                    Reduce("mean", ("x", "axes"), mode="Mean", keep_dims=True), _weights("w1", 20, 20, 1, 1),
                    _convolution("gate", "mean", "w1"), Eltwise("sigmoid", ("gate",), mode="Sigmoid"),
                    Eltwise("product", ("sigmoid", "x"), mode="Multiply"), _weights("w2", 40, 20, 3, 3), *last)


def test_a_convolution_multiplies_its_data(engine: Engine, rng: np.random.Generator) -> None:
    topology = _excited(_convolution("last", "product", "w2", 1), Eltwise("relu", ("last",), mode="Relu"),
                        _weights("row", 1, 40, 1, 1), Eltwise("sum", ("relu", "row"), mode="Add"))
    last = graph_after(engine, topology, PASSES)["last"].primitive
    assert isinstance(last, Convolution) and last.has_factor and last.own_input_count == 3
    assert last.inputs == (Port("x"), Port("w2"), Port("gate"), Port("row"))
    assert [fused.operands for fused in last.fused_ops] == [(None,), (None, 3)]
    fused, unfused = network_of(engine, topology), network_of(engine, topology, SKIPPED)
    removed = {r.primitive: (r.fate, r.into, r.by) for r in fused.program.removed}
    assert removed["product"] == ("fused", "last", "fuse_factor")
    for shape in ((2, 20, 5, 7), (1, 20, 1, 3), (3, 20, 9, 18)):
        x = rng.standard_normal(shape).astype(np.float32)
        assert np.allclose(execute(fused, [x])[0], execute(unfused, [x])[0], rtol=1e-4, atol=1e-4)


def test_tensor_cores_take_the_data_as_it_is(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    halves = Topology(given("x", ANY, 20, ANY, ANY, kind="f16"), given("y", 1, 20, 1, 1, kind="f16"),
                      constant("w2", np.ones((40, 20, 3, 3), np.float16)),
                      Eltwise("product", ("x", "y"), mode="Multiply"), _convolution("last", "product", "w2"))
    for has_tensor_cores in (False, True):
        monkeypatch.setattr(engine, "capabilities", replace(engine.capabilities, tensor_cores=has_tensor_cores))
        for topology in halves, _excited(_convolution("last", "product", "w2", 1)):
            data = graph_after(engine, topology, PASSES)["last"].inputs[0]
            assert (data == Port("product")) == (has_tensor_cores and topology is halves)


@pytest.mark.parametrize("topology", [
    _excited(_convolution("last", "product", "w2", 1), Eltwise("other", ("product",), mode="Exp")),
    _excited(_weights("w3", 20, 1, 1, 3, 3), GroupConvolution(
        "last", ("product", "w3"), strides=(1, 1), dilations=(1, 1), pads_begin=(0, 0), pads_end=(0, 0))),
    Topology(given("x", ANY, 20, ANY, ANY), given("y", ANY, 20, 1, 1), _weights("w2", 40, 20, 3, 3),
             Eltwise("product", ("x", "y"), mode="Multiply"), _convolution("last", "product", "w2")),
    Topology(given("x", ANY, 20, ANY, ANY), given("y", 1, 20, 1, 3), _weights("w2", 40, 20, 3, 3),
             Eltwise("product", ("x", "y"), mode="Multiply"), _convolution("last", "product", "w2")),
], ids=["read-twice", "depthwise", "perhaps-stretched", "not-per-channel"])
def test_products_that_stay(engine: Engine, topology: Topology) -> None:
    assert graph_after(engine, topology, PASSES)["last"].inputs[0] == Port("product")
