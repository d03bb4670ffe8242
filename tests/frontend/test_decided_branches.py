"""Ifs with constant conditions are the branch that is taken; the other may be impossible for the shapes at hand."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.frontend.transformations import prepare
from clinfer.runtime.engine import Engine
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import ov

Branch = Callable[[ov.Node], ov.Node]


def _branch(compute: Branch, shape: ov.PartialShape) -> ov.Model:
    given = ops.parameter(shape, np.float32)
    return ov.Model([compute(given)], [given])


def _if(condition: ov.Node, data: ov.Node, then_branch: Branch, else_branch: Branch) -> ov.Node:
    """As TorchScript's conversion leaves it: with Parameters of open rank."""
    node = ops.if_op(condition.output(0))
    bodies = [_branch(compute, ov.PartialShape.dynamic()) for compute in (then_branch, else_branch)]
    node.set_then_body(bodies[0])
    node.set_else_body(bodies[1])
    node.set_input(data.output(0), *(body.get_parameters()[0] for body in bodies))
    node.set_output(*(body.results[0] for body in bodies))
    return node


def _turned(x: ov.Node) -> ov.Node:
    return ops.transpose(x, np.array([1, 0]))


def _impossible(x: ov.Node) -> ov.Node:
    return ops.transpose(ops.reshape(x, np.array([7, 7, 7]), False), np.array([2, 1, 0]))


def _types(model: ov.Model) -> set[str]:
    return {node.get_type_name() for node in model.get_ordered_ops()}


@pytest.mark.parametrize("takes_then", [True, False])
@pytest.mark.parametrize("other", [_impossible, ops.relu])
def test_only_the_branch_that_is_taken_is_left(engine: Engine, rng: np.random.Generator, takes_then: bool,
                                               other: Branch) -> None:
    x = ops.parameter([-1, -1], np.float32)
    branches = (_turned, other) if takes_then else (other, _turned)
    model = prepare(ov.Model([ops.relu(_if(ops.constant(takes_then), x, *branches))], [x]))
    assert "If" not in _types(model)
    network = network_of(engine, model)
    for shape in ((2, 3), (5, 1), (0, 4)):
        data = rng.standard_normal(shape).astype(np.float32)
        assert np.array_equal(execute(network, [data])[0], np.maximum(data.T, 0))


def test_a_branch_may_hand_on_what_it_is_given(engine: Engine) -> None:
    x = ops.parameter([-1, -1], np.float32)
    model = prepare(ov.Model([_if(ops.constant(np.array([False])), x, _impossible, lambda given: given)], [x]))
    data = np.ones((2, 3), np.float32)
    assert np.array_equal(execute(network_of(engine, model), [data])[0], data)


def test_within_a_branch_that_data_decides(engine: Engine) -> None:
    x = ops.parameter([-1, -1], np.float32)
    positive = ops.greater(ops.reduce_sum(x, np.array([0, 1])), np.float32(0))
    node = _if(positive, x, lambda y: _if(ops.constant(True), y, _turned, _impossible), ops.negative)
    network = network_of(engine, prepare(ov.Model([node], [x])))
    data = np.ones((2, 3), np.float32)
    for given, wanted in ((data, data.T), (-data, data)):
        assert np.array_equal(execute(network, [given])[0], wanted)


def test_a_condition_that_shapes_decide(engine: Engine) -> None:
    x = ops.parameter([-1, -1], np.float32)
    rank = ops.squeeze(ops.shape_of(ops.shape_of(x)), np.array([0]))
    node = _if(ops.equal(rank, np.int64(2)), x, _turned, _impossible)
    model = prepare(ov.Model([node], [x]))
    assert "If" not in _types(model)
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(execute(network_of(engine, model), [data])[0], data.T)
