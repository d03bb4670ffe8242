"""Models with loops, and what one of them computes, in NumPy."""
from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from openvino import opset13 as ops

from tests.oracle import ov

Rng = np.random.Generator
Condition = Callable[[ov.Node, ov.Node], ov.Node]
TRUE = np.array([True])


def floats(rng: Rng, *shape: int) -> np.ndarray:
    return rng.uniform(-1, 1, shape).astype(np.float32)


def scalar(value: int, shape: Sequence[int] = ()) -> np.ndarray:
    return np.full(shape, value, np.int64)


def loop_of(trips: object, condition: object, body: ov.Model, counter: int = -1) -> ov.Node:
    """A Loop whose body's first result is the condition; `counter` is the index of that Parameter."""
    loop = ops.loop(trips, condition)
    loop.set_function(body)
    loop.set_special_body_ports([counter, 0])
    return loop


def always() -> ov.Node:
    return ops.constant(TRUE)


def running_sums(x: ov.Node, start: ov.Node, axis: int, size: int, backwards: tuple[bool, bool]) -> list[ov.Output]:
    """TensorIterator: the sums of all slices so far, joined, and the last one."""
    shape = x.get_output_partial_shape(0)
    shape[axis] = size
    part, state = ops.parameter(shape, np.float32), ops.parameter(start.get_output_partial_shape(0), np.float32)
    total = ops.add(part, state)
    doubled = ops.multiply(total, np.float32(2))
    iterator = ops.tensor_iterator()
    iterator.set_function(ov.Model([total, doubled], [part, state]))
    taken, put = ((-1, -size, 0) if back else (0, size, -1) for back in backwards)
    iterator.set_sliced_input(part, x.output(0), taken[0], taken[1], size, taken[2], axis)
    iterator.set_merged_input(state, start.output(0), total.output(0))
    return [iterator.get_iter_value(total.output(0), -1),
            iterator.get_concatenated_slices(doubled.output(0), put[0], put[1], size, put[2], axis)]


def run_length_model(trip_kind: type = np.int64) -> ov.Model:
    """Loop: state y = y * 0.5 + x[counter]; ends when y's sum exceeds a limit; y joined along axis 0 and 1.

    Behind the last row of x there are but zeros: without a trip count, x must be such that the sum gets there."""
    trips, condition = ops.parameter([], trip_kind), ops.parameter([], bool)
    x, start, limit = (ops.parameter(s, np.float32) for s in ([-1, -1], [1, -1], []))
    counter, y = ops.parameter([], np.int64), ops.parameter([1, -1], np.float32)
    rows, bound = ops.parameter([-1, -1], np.float32), ops.parameter([], np.float32)
    row = ops.unsqueeze(ops.gather(rows, counter, np.int64(0)), np.int64(0))
    new = ops.add(ops.multiply(y, np.float32(0.5)), row)
    goes_on = ops.less(ops.reduce_sum(new, np.array([0, 1]), False), bound)
    column = ops.transpose(new, np.array([1, 0]))
    loop = loop_of(trips, condition, ov.Model([goes_on, new, column], [counter, y, rows, bound]), 0)
    loop.set_merged_input(y, start.output(0), new.output(0))
    loop.set_invariant_input(rows, x.output(0))
    loop.set_invariant_input(bound, limit.output(0))
    loop.set_output_descriptions([
        ov.op.util.BodyOutputDescription(1, 0, -1), ov.op.util.ConcatOutputDescription(1, 1, 0, 1, 1, -1, 0),
        ov.op.util.ConcatOutputDescription(2, 2, 0, 1, 1, -1, 1),
        ov.op.util.ConcatOutputDescription(2, 3, -1, -1, 1, 0, 1)])
    loop.validate_and_infer_types()
    return ov.Model(loop.outputs(), [trips, condition, x, start, limit])


def run_length(inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    trips, condition, x, y, limit = inputs
    rows: list[np.ndarray] = []
    goes_on = bool(condition)
    while goes_on and (trips < 0 or len(rows) < trips):
        y = y * np.float32(0.5) + x[len(rows)]
        rows.append(y)
        goes_on = bool(y.sum() < limit)
    joined = np.concatenate([*rows, np.zeros((0, x.shape[1]), np.float32)])
    return [y, joined, joined.T, joined[::-1].T]


def doubling(condition_of: Condition | None = None, trips: ov.Node | None = None,
              slices: bool = False) -> ov.Model:
    """Loop: x doubles; the condition is made of the body's condition input and x, or is always true."""
    trip_count, condition = trips or ops.parameter([], np.int64), ops.parameter([1], bool)
    x = ops.parameter([-1, 2], np.float32)
    held, state, part = ops.parameter([1], bool), ops.parameter([-1, 2], np.float32), ops.parameter([1, 2], np.float32)
    new = ops.add(ops.multiply(state, np.float32(2)), part) if slices else ops.multiply(state, np.float32(2))
    goes_on = condition_of(held, new) if condition_of else always()
    loop = loop_of(trip_count, condition, ov.Model([goes_on, new], [held, state, *[part] * slices]))
    if slices:
        loop.set_sliced_input(part, x.output(0), 0, 1, 1, -1, 0)
    loop.set_merged_input(held, condition.output(0), goes_on.output(0))
    loop.set_merged_input(state, x.output(0), new.output(0))
    loop.set_friendly_name("doubling")
    return ov.Model([loop.get_iter_value(new.output(0), -1)],
                    [*[trip_count] * (trips is None), condition, x])
