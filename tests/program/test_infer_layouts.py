"""What is known of shapes when a program is built."""
from __future__ import annotations

import numpy as np

from clinfer.base.shape import ANY, Shape
from clinfer.frontend.reader import to_topology
from clinfer.frontend.transformations import prepare
from clinfer.ops.eltwise import Eltwise
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.propagate_constants import propagate_constants
from clinfer.runtime.engine import Engine
from tests.network.running import check, network_of
from tests.oracle import CpuPlugin, ov
from tests.program.building import graph_after

op = ov.opset13


def _size(data: ov.Node, axis: int) -> ov.Node:
    return op.gather(op.shape_of(data), np.array([axis]), np.int64(0))


def _shape_of_result(engine: Engine, model: ov.Model) -> Shape:
    graph = graph_after(engine, to_topology(model).topology, (infer_layouts,))
    port, = graph.outputs.values()
    return graph.layout(port).shape


def test_sizes_of_a_reshape_that_are_sure_are_known(engine: Engine, rng: np.random.Generator) -> None:
    """Among those that are not, as of windows of pictures of which the number is open; 0 copies, -1 is what remains."""
    data = op.parameter([-1, 8, 6, 5], np.float32)
    rows, columns = (op.divide(_size(data, axis), np.int64(2)) for axis in (1, 2))
    pattern = op.concat([_size(data, 0), rows, np.array([2]), columns, np.array([-1])], 0)
    windows = op.reshape(data, pattern, False)
    joined = op.reshape(windows, op.concat([np.array([-1]), _size(windows, 3), np.array([2, 2, 5])], 0), False)
    again = op.reshape(joined, op.concat([_size(joined, 0), np.array([0, 0, 10])], 0), True)
    for result, wanted in (windows, (ANY, 4, 2, 3, ANY)), (joined, (ANY, 3, 2, 2, 5)), (again, (ANY, 3, 2, 10)):
        assert _shape_of_result(engine, ov.Model([result], [data], "m")) == wanted
    model = ov.Model([op.relu(again)], [data], "windows")
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for batch in (1, 3, 2, 0):
        check(network, oracle, [rng.standard_normal((batch, 8, 6, 5)).astype(np.float32)])


def test_arithmetic_on_sizes_that_are_known_is_done(engine: Engine) -> None:
    """Although the first size is open."""
    data = op.parameter([-1, 96], np.float32)
    heads = op.floor(op.divide(_size(data, 1), np.int64(3)))
    model = ov.Model([op.multiply(data, op.power(op.convert(heads, "f32"), np.float32(-0.5)))], [data], "m")
    graph = graph_after(engine, to_topology(model).topology, (infer_layouts, propagate_constants))
    product, = (node for node in graph if isinstance(node.primitive, Eltwise))
    assert product.inputs[1].primitive in graph.constants
