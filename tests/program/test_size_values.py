"""What is known of shape arithmetic before sizes are."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from clinfer.frontend.reader import to_topology
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.size_names import SizeNames
from clinfer.program.size_values import SizeValues
from clinfer.runtime.engine import Engine
from clinfer.topology import Port
from tests.oracle import ov
from tests.program.building import context_of, graph_after

op = ov.opset13

Arithmetic = Callable[[ov.Node], ov.Node]


def _known(engine: Engine, arithmetic: Arithmetic) -> tuple[tuple[object, ...], tuple[object, ...]]:
    """The elements of what is computed from the shape [?, 4, ?], and that shape with its names."""
    data = op.parameter([-1, 4, -1], np.float32)
    data.set_friendly_name("data")
    result = arithmetic(op.shape_of(data))
    result.set_friendly_name("result")
    model = ov.Model([result], [data], "arithmetic")
    graph, context = graph_after(engine, to_topology(model).topology, (infer_layouts,)), context_of(engine)
    names = SizeNames(graph, context)
    return SizeValues(graph, context, names).of(graph.outputs[next(iter(graph.outputs))]), names.shape(Port("data"))


def test_sizes_are_handed_on(engine: Engine) -> None:
    def arithmetic(shape: ov.Node) -> ov.Node:
        last = op.gather(shape, np.array([2]), np.int64(0))
        wide = op.concat([op.squeeze(op.unsqueeze(shape, np.int64(0)), np.int64(0)), np.array([7]), last], 0)
        return op.select(op.equal(wide, np.array([-1])), np.ones(5, np.int64), wide)
    found, (batch, size, length) = _known(engine, arithmetic)
    assert found == (batch, size, length, 7, length) and batch != length


def test_sums_have_names(engine: Engine) -> None:
    found, shape = _known(engine, lambda sizes: op.add(sizes, np.array([1, 1, 0])))
    assert found == (shape[0] + 1, 5, shape[2])  # type: ignore[operator]


def test_numbers_among_sizes_are_computed_with(engine: Engine) -> None:
    found, _ = _known(engine, lambda sizes: op.mod(op.gather(sizes, np.array([1, 1]), np.int64(0)), np.array([3, 4])))
    assert found == (1, 0)


def test_parts_have_the_lengths_that_known_sizes_give(engine: Engine) -> None:
    data = op.parameter([-1, 6, -1], np.float32)
    length = op.divide(op.gather(op.shape_of(data), np.array([1]), np.int64(0)), np.array([3]))
    lengths = op.concat([op.broadcast(length, np.array([2])), np.array([-1])], 0)
    parts = op.variadic_split(data, np.int64(1), lengths)
    model = ov.Model(parts.outputs(), [data], "parts")
    graph = graph_after(engine, to_topology(model).topology, (infer_layouts,))
    assert [graph.layout(port).shape[1] for port in graph.outputs.values()] == [2, 2, 2]
    split = graph[next(iter(graph.outputs.values())).primitive]
    assert all(port.primitive in graph.constants for port in split.inputs[1:])


@pytest.mark.parametrize("arithmetic", [
    lambda sizes: op.mod(sizes, np.array([3])),
    lambda sizes: op.maximum(sizes, np.array([3])),
    lambda sizes: op.select(op.equal(sizes, np.array([5])), sizes, np.array([1, 1, 1])),
    lambda sizes: op.add(sizes, np.array([-1]))], ids=["rest", "largest", "compared", "one less"])
def test_what_depends_on_sizes_is_unknown(engine: Engine, arithmetic: Arithmetic) -> None:
    found, _ = _known(engine, arithmetic)
    assert found[0] is None and found[2] is None
