"""Sums that work before what turns channels first."""
from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from clinfer.frontend.reader import to_topology
from clinfer.frontend.transformations import prepare
from clinfer.ops.transpose import Transpose
from clinfer.program.graph import Graph
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.propagate_constants import propagate_constants
from clinfer.program.passes.remove_needless_nodes import remove_needless_nodes
from clinfer.program.passes.sink_transposes import sink_transposes
from clinfer.runtime.engine import Engine
from tests.network.running import check, network_of
from tests.oracle import CpuPlugin, ov
from tests.program.building import graph_after

CHANNELS = 6
TO_LAST, TO_FIRST = np.array([0, 2, 3, 1]), np.array([0, 3, 1, 2])
op = ov.opset13
module = import_module("clinfer.program.passes.sink_transposes")


def _values(rng: np.random.Generator, *shape: int) -> ov.Node:
    return op.constant(rng.standard_normal(shape).astype(np.float32))


def _block(rng: np.random.Generator, data: ov.Node) -> ov.Node:
    """data + scale * (product over the channels of a depthwise convolution), with channels first."""
    seen = op.group_convolution(data, _values(rng, CHANNELS, 1, 1, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1])
    product = op.matmul(op.transpose(seen, TO_LAST), _values(rng, CHANNELS, CHANNELS), False, False)
    return op.add(op.multiply(op.transpose(product, TO_FIRST), _values(rng, CHANNELS, 1, 1)), data)


def _graph(engine: Engine, model: ov.Model, precision: str = "f32") -> Graph:
    return graph_after(engine, to_topology(prepare(model, precision)).topology,
                       (infer_layouts, propagate_constants, remove_needless_nodes, sink_transposes))


def _sums_over_turned(graph: Graph) -> int:
    """How many element-wise nodes read what a Transpose gives."""
    return sum(any(isinstance(graph[port.primitive].primitive, Transpose) for port in node.inputs)
               for node in graph if len(node.inputs) == 2 and node.primitive.fused_text(
                   tuple(map(graph.element_type, node.inputs))) is not None)


def _residual(rng: np.random.Generator) -> ov.Model:
    data = op.parameter([-1, CHANNELS, -1, -1], np.float32)
    return ov.Model([op.relu(_block(rng, _block(rng, data)))], [data], "residual")


def test_a_sum_with_what_stays_channels_first_is_left(engine: Engine, rng: np.random.Generator) -> None:
    """The scales, which are constants, are moved all the same."""
    model = _residual(rng)
    assert _sums_over_turned(_graph(engine, model)) == 2
    _check(engine, model, rng)


def test_residual_blocks_stay_channels_last(engine: Engine, rng: np.random.Generator,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    """The first sum reads the input turned back, the second one the first sum as it is."""
    monkeypatch.setattr(module, "_can_turn_back", lambda *_: True)
    model = _residual(rng)
    graph = _graph(engine, model)
    turned = [node for node in graph if isinstance(node.primitive, Transpose)]
    # Around two convolutions, the input for the first sum, and the result.
    assert len(turned) == 5
    _check(engine, model, rng)


@pytest.mark.parametrize(("precision", "left"), [("f16", 1), ("f32", 2)])
def test_tensor_cores_want_it_of_halves(engine: Engine, rng: np.random.Generator, precision: str, left: int) -> None:
    """What is left of one sum is the input, which is turned back."""
    before = engine.capabilities
    engine.capabilities = replace(before, tensor_cores=True)
    try:
        assert _sums_over_turned(_graph(engine, _residual(rng), precision)) == left
    finally:
        engine.capabilities = before


def _check(engine: Engine, model: ov.Model, rng: np.random.Generator) -> None:
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for batch, height, width in ((2, 5, 7), (1, 1, 3), (3, 8, 4)):
        check(network, oracle, [rng.standard_normal((batch, CHANNELS, height, width)).astype(np.float32)])


def test_two_turned_tensors_are_added_before(engine: Engine, rng: np.random.Generator) -> None:
    """On any device: one Transpose is left of two. Of an output nothing is taken away."""
    data = op.parameter([-1, -1, -1, CHANNELS], np.float32)
    one, other = (op.transpose(op.matmul(data, _values(rng, CHANNELS, CHANNELS), False, False), TO_FIRST)
                  for _ in range(2))
    model = ov.Model([op.subtract(one, other)], [data], "two")
    assert sum(isinstance(node.primitive, Transpose) for node in _graph(engine, model)) == 1
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for shape in ((2, 5, 7), (1, 1, 1)):
        check(network, oracle, [rng.standard_normal((*shape, CHANNELS)).astype(np.float32)])
    kept = ov.Model([op.subtract(one, other), one], [data], "kept")
    network, oracle = network_of(engine, prepare(kept)), CpuPlugin(kept)
    check(network, oracle, [rng.standard_normal((2, 3, 4, CHANNELS)).astype(np.float32)])


@pytest.mark.parametrize("order", [(0, 1, 3, 2), (3, 0, 1, 2), (0, 2, 1, 3)])
def test_other_orders_are_left(engine: Engine, rng: np.random.Generator, order: tuple[int, ...]) -> None:
    data = op.parameter([-1, 4, 5, CHANNELS], np.float32)
    turned = op.transpose(op.matmul(data, _values(rng, CHANNELS, CHANNELS), False, False), np.array(order))
    model = ov.Model([op.add(turned, _values(rng, 1, 1, 1, 1))], [data], "m")
    assert _sums_over_turned(_graph(engine, model)) == 1
