"""What stands behind operations whose output shapes depend on data: many elements, one, none."""
from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.base.errors import ClinferError
from clinfer.runtime.engine import Engine
from tests.network.loop_models import always, loop_of
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import assert_close, ov

DENSITIES = (0.4, 0.0, 1.0, 0.02, 0.0, 0.4)


def _rows(x: ov.Node) -> ov.Output:
    """The rows of x [?, n] whose first number is positive, and where they are."""
    first = ops.gather(x, np.int64(0), np.int64(1))
    places = ops.squeeze(ops.non_zero(ops.greater(first, np.float32(0)), "i64"), np.array([0]))
    return ops.gather(x, places, np.int64(0))


def _data(rng: np.random.Generator, rows: int, density: float, width: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Random data, and its rows that begin with a positive number."""
    data = rng.standard_normal((rows, width)).astype(np.float32)
    data[:, 0] = np.where(rng.random(rows) < density, 1, -1) * (np.abs(data[:, 0]) + 0.1)
    return data, data[data[:, 0] > 0]


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    powers = np.exp(x - x.max(axis, keepdims=True, initial=-1e30))
    return powers / powers.sum(axis, keepdims=True)


def _run(engine: Engine, rng: np.random.Generator, outputs: Sequence[object], x: ov.Node, expected: object,
         rows: Sequence[int] = (9, 40, 1, 33, 9, 0)) -> None:
    network = network_of(engine, ov.Model([ops.result(out) for out in outputs], [x]))
    for count, density in zip(rows, DENSITIES, strict=True):
        data, found = _data(rng, count, density)
        wanted = expected(found)  # type: ignore[operator]
        for number, (actual, array) in enumerate(zip(execute(network, [data]), wanted, strict=True)):
            assert_close(actual, np.asarray(array), 1e-4, f"output {number} of {len(found)} rows")


def test_element_wise_and_moving(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([-1, 8], np.float32)
    rows = _rows(x)
    scaled = ops.relu(ops.add(ops.multiply(rows, np.float32(2)), np.arange(8, dtype=np.float32)))
    outputs = [scaled, ops.transpose(scaled, np.array([1, 0])), ops.concat([scaled, x, rows], 0),
               ops.slice(scaled, np.array([0]), np.array([3]), np.array([2]), np.array([0])),
               ops.reshape(scaled, np.array([-1, 2, 4]), False), ops.tile(rows, np.array([2, 1])),
               ops.pad(rows, np.array([1, 0]), np.array([2, 0]), "constant", np.float32(3)),
               ops.shape_of(rows), ops.split(rows, np.int64(1), 2).output(1)]
    network = network_of(engine, ov.Model([ops.result(out) for out in outputs], [x]))
    for count, density in zip((9, 40, 1, 33, 9, 0), DENSITIES, strict=True):
        data, found = _data(rng, count, density)
        s = np.maximum(found * 2 + np.arange(8, dtype=np.float32), 0)
        wanted = [s, s.T, np.concatenate([s, data, found]), s[0:3:2], s.reshape(len(s), 2, 4).reshape(-1, 2, 4),
                  np.tile(found, (2, 1)), np.pad(found, ((1, 2), (0, 0)), constant_values=3),
                  np.array(found.shape), found[:, 4:]]
        for number, (actual, array) in enumerate(zip(execute(network, [data]), wanted, strict=True)):
            assert_close(actual, np.ascontiguousarray(array), 1e-4, f"output {number} of {len(found)} rows")


def test_reductions_and_products(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([-1, 8], np.float32)
    rows, weights = _rows(x), rng.standard_normal((8, 5)).astype(np.float32)
    bias = rng.standard_normal(5).astype(np.float32)
    outputs = [ops.reduce_sum(rows, np.array([0]), False), ops.reduce_max(rows, np.array([0]), True),
               ops.reduce_mean(rows, np.array([1]), False), ops.softmax(rows, 0), ops.softmax(rows, 1),
               ops.relu(ops.add(ops.matmul(rows, weights, False, False), bias)),
               ops.add(ops.matmul(rows, rows, True, False), np.float32(1)),
               ops.cum_sum(rows, np.int64(0))]
    def expected(found: np.ndarray) -> list[np.ndarray]:
        return [found.sum(0), found.max(0, keepdims=True, initial=-np.inf), found.mean(1), _softmax(found, 0),
                _softmax(found, 1), np.maximum(found @ weights + bias, 0), found.T @ found + 1, found.cumsum(0)]
    _run(engine, rng, outputs, x, expected)


def test_convolution(engine: Engine, rng: np.random.Generator) -> None:
    """The rows that are found as a batch of pictures."""
    x = ops.parameter([-1, 8], np.float32)
    weights, bias = (rng.standard_normal(s).astype(np.float32) for s in ((3, 2, 1, 1), (1, 3, 1, 1)))
    pictures = ops.reshape(_rows(x), np.array([-1, 2, 2, 2]), False)
    convolved = ops.relu(ops.add(ops.convolution(pictures, weights, [1, 1], [0, 0], [0, 0], [1, 1]), bias))
    pooled = ops.reduce_mean(convolved, np.array([2, 3]), False)
    def expected(found: np.ndarray) -> list[np.ndarray]:
        result = np.maximum(np.einsum("nchw,oc->nohw", found.reshape(-1, 2, 2, 2), weights[:, :, 0, 0]) + bias, 0)
        return [result, result.mean((2, 3))]
    _run(engine, rng, [convolved, pooled], x, expected)


def test_topk_of_as_many_as_there_are(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([-1, 8], np.float32)
    firsts = ops.gather(_rows(x), np.int64(1), np.int64(1))
    count = ops.squeeze(ops.minimum(ops.shape_of(firsts), np.array([3])), np.array([0]))
    best = ops.topk(firsts, count, 0, "max", "value")
    _run(engine, rng, [best.output(0), best.output(1)], x, lambda found: [
        -np.sort(-found[:, 1])[:3], np.argsort(-found[:, 1], kind="stable")[:3].astype(np.int32)])


def test_unique_and_what_follows(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([-1], np.int32)
    found = ops.unique(x, sorted=True)
    doubled = ops.multiply(found.output(0), np.int32(2))
    restored = ops.gather(found.output(0), found.output(2), np.int64(0))
    total = ops.reduce_sum(found.output(3), np.array([0]), True)
    network = network_of(engine, ov.Model([ops.result(out) for out in (doubled, restored, total)], [x]))
    for size, values in ((30, 4), (1, 1), (0, 1), (300, 1000), (30, 1), (0, 1), (30, 4)):
        data = rng.integers(-values, values, size).astype(np.int32)
        actual = execute(network, [data])
        for got, wanted in zip(actual, (np.unique(data) * 2, data, np.array([size])), strict=True):
            assert np.array_equal(got, wanted)


def test_a_branch_and_a_loop(engine: Engine, rng: np.random.Generator) -> None:
    """Where rows are found their sum, by a loop over them; else a row of -1."""
    x = ops.parameter([-1, 8], np.float32)
    rows = _rows(x)
    count = ops.squeeze(ops.gather(ops.shape_of(rows), np.array([0]), np.int64(0)), np.array([0]))
    given, trips = ops.parameter([-1, 8], np.float32), ops.parameter([], np.int64)
    counter, state, all_rows = (ops.parameter(s, t) for s, t in (([], np.int64), ([8], np.float32),
                                                                 ([-1, 8], np.float32)))
    total = ops.add(state, ops.gather(all_rows, counter, np.int64(0)))
    loop = loop_of(trips, always(), ov.Model([always(), total], [counter, state, all_rows]), counter=0)
    loop.set_merged_input(state, ops.constant(np.zeros(8, np.float32)).output(0), total.output(0))
    loop.set_invariant_input(all_rows, given.output(0))
    summed = ov.Model([ops.result(loop.get_iter_value(total.output(0), -1))], [given, trips])
    missing = ov.Model([ops.result(ops.constant(np.full(8, -1, np.float32)))], [])
    branch = ops.if_op(ops.greater(count, np.int64(0)).output(0))
    branch.set_then_body(summed)
    branch.set_else_body(missing)
    branch.set_input(rows.output(0), given, None)
    branch.set_input(count.output(0), trips, None)
    result = branch.set_output(summed.get_results()[0], missing.get_results()[0])
    _run(engine, rng, [ops.negative(result)], x,
         lambda found: [-found.sum(0) if len(found) else np.ones(8, np.float32)])


@pytest.mark.parametrize("is_sorted", [True, False])
def test_boxes_all_the_way(engine: Engine, rng: np.random.Generator, is_sorted: bool) -> None:
    """Boxes that are kept, gathered and scaled; of none, none."""
    boxes, scores = ops.parameter([1, -1, 4], np.float32), ops.parameter([1, 1, -1], np.float32)
    kept = ops.non_max_suppression(boxes, scores, np.int64(50), np.float32(1), np.float32(0.5),
                                   box_encoding="corner", sort_result_descending=is_sorted, output_type="i64")
    places = ops.gather(kept.output(0), np.int64(2), np.int64(1))
    chosen = ops.multiply(ops.gather(boxes, places, np.int64(1)), np.float32(100))
    outputs = [chosen, kept.output(1), ops.concat([ops.squeeze(chosen, np.array([0])), ops.convert(ops.unsqueeze(
        places, np.array([1])), "f32")], 1), kept.output(2)]
    network = network_of(engine, ov.Model([ops.result(out) for out in outputs], [boxes, scores]))
    for size, density in zip((12, 40, 1, 60, 12, 0), DENSITIES, strict=True):
        corners = rng.random((1, size, 4)).astype(np.float32)
        marks = np.where(rng.random(size) < density, 0.6, 0.1) + rng.permutation(size) / 1000
        marks = marks.astype(np.float32)
        order = np.array(sorted(np.flatnonzero(marks > 0.5), key=lambda i: -marks[i]), np.int64)
        big, labels, joined, count = execute(network, [corners, marks.reshape(1, 1, -1)])
        assert_close(big, corners[:, order] * 100, 1e-5)
        assert_close(labels[:, 2], marks[order], 1e-5)
        assert_close(joined, np.concatenate([corners[0, order] * 100, order[:, None]], 1).astype(np.float32), 1e-5)
        assert count.tolist() == [len(order)]


def _counted_slice(x: ov.Node) -> ov.Node:
    starts = ops.range(np.int64(0), _last_size(x), np.int64(1), output_type="i64")
    return ops.slice(x, starts, np.array([-10000]), np.array([-1]), np.array([-1]))


def _counted_range(x: ov.Node) -> ov.Node:
    numbers = ops.range(np.int64(0), _last_size(x), np.int64(1), output_type="i64")
    return ops.range(np.int64(0), ops.squeeze(numbers, np.array([0])), np.int64(1), output_type="i64")


def _last_size(x: ov.Node) -> ov.Node:
    return ops.gather(ops.shape_of(x), np.int64(-1), np.int64(0))


@pytest.mark.parametrize(("build", "shape"), [(_counted_slice, (1, 3, 1)), (_counted_range, (0,))])
def test_numbers_that_must_be_as_many_as_an_open_size(build: Callable[[ov.Node], ov.Node], shape: tuple[int, ...],
                                                      engine: Engine) -> None:
    """The model holds for a size of 1 alone, which is not the size that an open one is taken to have."""
    x = ops.parameter([1, -1, -1], np.float32)
    network = network_of(engine, ov.Model([ops.result(build(x))], [x]))
    for size in (1, 3, 0, 1):
        data = np.ones((1, 3, size), np.float32)
        if size == 1:
            assert execute(network, [data])[0].shape == shape
        else:
            with pytest.raises(ClinferError, match=r"Slice|Squeeze"):
                execute(network, [data])
