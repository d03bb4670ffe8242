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


def _branch(compute: Branch, kind: ov.Type) -> ov.Model:
    given = ops.parameter(ov.PartialShape.dynamic(), kind)
    return ov.Model([compute(given)], [given])


def _if(condition: ov.Node, data: ov.Node, then_branch: Branch, else_branch: Branch) -> ov.Node:
    """As TorchScript's conversion leaves it: with Parameters of open rank."""
    node = ops.if_op(condition.output(0))
    bodies = [_branch(compute, data.get_element_type()) for compute in (then_branch, else_branch)]
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


def _size(x: ov.Node | ov.Output, axis: int) -> ov.Node:
    return ops.gather(ops.shape_of(x), np.int64(axis), np.int64(0))


def _distinct(*values: int) -> ov.Output:
    return ops.unique(ops.concat([ops.constant([value]) for value in values], 0), np.int64(0)).output(0)


def _rank(x: ov.Node) -> ov.Node:
    return ops.squeeze(ops.shape_of(ops.shape_of(x)), np.array([0]))


@pytest.mark.parametrize("shape, condition", [
    ([-1, -1], lambda x: ops.equal(_rank(x), np.int64(2))),
    ([2, -1], lambda x: ops.greater(_size(x, 0), np.int64(1))),
    ([-1, 3], lambda x: ops.equal(ops.floor_mod(_size(x, 1), np.int64(2)), np.int64(1)))])
def test_a_condition_that_shapes_decide(engine: Engine, shape: list[int], condition: Branch) -> None:
    x = ops.parameter(shape, np.float32)
    model = prepare(ov.Model([_if(condition(x), x, _turned, _impossible)], [x]))
    assert "If" not in _types(model)
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(execute(network_of(engine, model), [data])[0], data.T)


def test_the_values_of_a_branch_are_wanted_for_a_shape(engine: Engine) -> None:
    """OpenVINO cannot compute those of this Tile."""
    x = ops.parameter([3], np.float32)
    count = _if(ops.constant(False), _size(x, 0), ops.negative, lambda size: ops.tile(size, np.array([], np.int64)))
    model = prepare(ov.Model([ops.tile(x, ops.unsqueeze(count, np.array([0])))], [x]))
    data = np.arange(3, dtype=np.float32)
    assert np.array_equal(execute(network_of(engine, model), [data])[0], np.tile(data, 3))


@pytest.mark.parametrize("condition", [
    lambda x: ops.equal(ops.floor_mod(_size(x, 1), np.int64(2)), np.int64(0)),
    lambda x: ops.greater(_size(_distinct(0, 0), 0), np.int64(1))])
def test_what_bounds_of_sizes_do_not_decide(engine: Engine, condition: Branch) -> None:
    """2 and 4 are even, 3 is not; two elements have one or two values."""
    x = ops.parameter(ov.PartialShape([-1, ov.Dimension(2, 4)]), np.float32)
    model = prepare(ov.Model([_if(condition(x), x, ops.negative, _turned)], [x]))
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(execute(network_of(engine, model), [data])[0], data.T)
