"""A model with variable states of several kinds, the same in NumPy, and what tests of states look at."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.api.infer_request import InferRequest
from clinfer.frontend.openvino_import import openvino as ov

op = ov.opset13
F32 = {"INFERENCE_PRECISION_HINT": "f32"}


def variable(first: Any, name: str, shape: list[int], kind: str = "f32") -> Any:
    return op.read_value(first, name, getattr(ov.Type, kind), ov.PartialShape(shape))


def memory_model() -> ov.Model:
    """`rows`: all rows so far, at least those that are declared; `sum`: of all calls; `count`: of calls, an i32;
    `before`: the sum one call ago, a delay of the other state."""
    x = op.parameter([-1, 4], np.float32, name="x")
    rows = variable(op.constant(np.zeros((0, 4), np.float32)), "rows", [-1, 4])
    joined = op.concat([rows, x], 0)
    total = variable(op.constant(np.zeros((1,), np.float32)), "sum", [1])
    added = op.add(total, op.reduce_sum(op.reduce_sum(x, op.constant([1]), False), op.constant([0]), True))
    count = variable(op.constant(np.array([7], np.int32)), "count", [1], "i32")
    counted = op.add(count, op.constant(np.array([1], np.int32)))
    before = variable(op.constant(np.array([-1], np.float32)), "before", [1])
    fixed = variable(op.constant(np.array([5], np.float32)), "fixed", [1])
    outputs = {"y": op.relu(joined), "sum": added, "count": counted, "old": op.add(before, fixed)}
    results = []
    for name, node in outputs.items():
        node.output(0).set_names({name})
        results.append(op.result(node))
    sinks = [op.assign(node, name) for node, name in (
        (joined, "rows"), (added, "sum"), (counted, "count"), (total, "before"), (fixed, "fixed"))]
    return ov.Model(results, sinks, [x], "memory")


class Reference:
    """The same in NumPy."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.rows, self.sum, self.count = np.zeros((0, 4), np.float32), 0.0, 7
        self.before = -1.0

    def infer(self, x: np.ndarray) -> list[np.ndarray]:
        old, self.before = self.before + 5, self.sum
        self.rows, self.sum, self.count = np.concatenate([self.rows, x]), self.sum + float(x.sum()), self.count + 1
        return [np.maximum(self.rows, 0), np.array([self.sum]), np.array([self.count]), np.array([old])]


def rows(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((int(rng.integers(1, 5)), 4)).astype(np.float32)


def same(found: Any, wanted: list[np.ndarray]) -> None:
    for index, value in enumerate(wanted):
        assert found[index].shape == value.shape
        np.testing.assert_allclose(found[index], value, rtol=1e-4, atol=1e-4)


def states(request: InferRequest) -> dict[str, Any]:
    return {state.name: state for state in request.query_state()}


def contents(request: Any) -> dict[str, np.ndarray]:
    return {state.name: state.state.data.copy() for state in request.query_state()}


def unchanged(request: InferRequest, before: dict[str, np.ndarray]) -> None:
    for name, value in contents(request).items():
        np.testing.assert_array_equal(value, before[name])
