"""Bodies of If: results that are what came in, changing shapes, values, and errors inside a body."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset13 as ops
from openvino import opset15

from clinfer.base.errors import ClinferError
from clinfer.base.shape import show
from clinfer.runtime.engine import Engine
from tests.network.running import check, network_of
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, ov


def _floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def _if(condition: ov.Node, x: ov.Node, then_body: object, else_body: object) -> ov.Output:
    """If with one input and one output; the bodies are functions from node to node."""
    chosen = ops.if_op(condition)
    inner = [ops.parameter(x.get_output_partial_shape(0), np.float32) for _ in range(2)]
    results = [ops.result(body(p)) for body, p in zip((then_body, else_body), inner, strict=True)]  # type: ignore[operator]
    chosen.set_then_body(ov.Model([results[0]], [inner[0]]))
    chosen.set_else_body(ov.Model([results[1]], [inner[1]]))
    chosen.set_input(x.output(0), *inner)
    return chosen.set_output(*results)


@pytest.mark.parametrize("levels", [1, 2])
def test_a_body_that_returns_what_it_was_given(engine: Engine, rng: np.random.Generator, levels: int) -> None:
    condition, x = ops.parameter([1], bool), ops.parameter([-1, 64], np.float32)
    kept = ops.softmax(x, 1)
    for _ in range(levels):
        flat = _if(condition, kept, lambda p: ops.reshape(p, ops.constant([-1, 8], np.int64), False),
                   lambda p: ops.exp(p))
        kept = ops.reshape(flat, ops.constant([-1, 64], np.int64), False)
    other = x
    for axis in (0, 1, 0, 1):
        other = ops.softmax(ops.multiply(other, np.float32(3)), axis)
    model = ov.Model([ops.multiply(other, kept), kept], [condition, x])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for choice, rows in ((True, 3), (False, 3), (True, 9), (True, 3), (False, 40), (True, 40)):
        check(network, oracle, [np.array([choice]), _floats(rng, rows, 64)])


def test_a_body_called_with_changing_shapes(engine: Engine, rng: np.random.Generator) -> None:
    condition, x = ops.parameter([1], bool), ops.parameter([-1, -1], np.float32)
    out = _if(condition, x, lambda p: ops.concat([p, ops.softmax(p, 1)], 0),
              lambda p: ops.non_zero(p, "i64") and ops.reduce_max(p, ops.constant([0], np.int64), True))
    model = ov.Model([ops.multiply(ops.relu(out), np.float32(2))], [condition, x])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for _ in range(12):
        rows, columns = (int(n) for n in rng.integers(1, 40, 2))
        check(network, oracle, [rng.random(1) < 0.5, _floats(rng, rows, columns)])


@pytest.mark.parametrize(("one", "other", "told"), [
    ([1], [1], "[1]"), ([2, 1], [2, 1], "[2,1]"), ([], [1], "[1]"), ([1, 1], [1, 1], "[1,1]"), ([], [], "[]"),
    ([2, 2], [1, 4], "[1..2,2..4]"), ([4], [-1], "[4]")])
def test_what_both_bodies_give_is_known_before(engine: Engine, rng: np.random.Generator, one: list[int],
                                               other: list[int], told: str) -> None:
    condition, x = ops.parameter([1], bool), ops.parameter([max(int(np.prod(one)), 1)], np.float32)
    out = _if(condition, x, lambda p: ops.reshape(ops.exp(p), np.array(one, np.int64), False),
              lambda p: ops.reshape(p, np.array(other, np.int64), False))
    is_open = ".." in told
    model = ov.Model([ops.relu(out), ops.exp(out) if is_open else opset15.squeeze(ops.exp(out))], [condition, x])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    chosen, = (node for node in network.program.nodes if node.bodies)
    assert show(network.program.tensors[chosen.outputs[0]].layout.shape) == told
    for choice in (True, False, True):
        check(network, oracle, [np.array([choice]), _floats(rng, *x.get_output_shape(0))])


def test_an_error_inside_a_body_names_the_outer_operation(engine: Engine, rng: np.random.Generator) -> None:
    condition, x = ops.parameter([1], bool), ops.parameter([-1], np.float32)
    out = _if(condition, x, lambda p: ops.reshape(p, ops.constant([2, -1], np.int64), False),
              lambda p: ops.reshape(p, ops.constant([1, -1], np.int64), False))
    out.get_node().set_friendly_name("choice")
    model = ov.Model([ops.multiply(out, np.float32(2))], [condition, x])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    check(network, oracle, [np.array([True]), _floats(rng, 4)])
    with pytest.raises(ClinferError, match="If 'choice'"):
        execute(network, [np.array([True]), _floats(rng, 5)])
    check(network, oracle, [np.array([False]), _floats(rng, 5)])
