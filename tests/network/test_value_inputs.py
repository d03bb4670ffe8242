"""Operations whose axis, shape or bounds come at run time, and their arithmetic on the host."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.ops.broadcast import Broadcast
from clinfer.ops.cum_sum import CumSum
from clinfer.ops.gather import Gather, Gather7
from clinfer.ops.range import Range
from clinfer.ops.tile import Tile
from clinfer.runtime.engine import Engine
from clinfer.topology import Primitive
from tests.network.running import check, network_of
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, assert_close, ov


def _floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def test_gather_along_an_axis_given_at_run_time(engine: Engine, rng: np.random.Generator) -> None:
    x, axis = ops.parameter([-1, -1, -1], np.float32), ops.parameter([], np.int64)
    indices = ops.parameter([-1], np.int32)
    network = network_of(engine, ov.Model([ops.gather(x, indices, axis)], [x, indices, axis]))
    for shape, wanted in (((2, 3, 4), 1), ((2, 3, 4), 0), ((5, 4, 40), 1), ((2, 3, 4), 2), ((2, 3, 4), -2)):
        data, places = _floats(rng, *shape), rng.integers(-shape[wanted], shape[wanted], 5).astype(np.int32)
        result, = execute(network, [data, places, np.array(wanted, np.int64)])
        assert np.array_equal(result, data.take(places, wanted))


def test_indices_computed_on_the_device(engine: Engine, rng: np.random.Generator) -> None:
    x, places = ops.parameter([-1, 24], np.float32), ops.parameter([-1, -1], np.float32)
    model = ov.Model([ops.gather(x, ops.convert(places, "i64"), np.int64(0))], [x, places])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for rows, shape in ((5, (2, 3)), (1, (1, 1)), (9, (4, 4))):
        check(network, oracle, [_floats(rng, rows, 24), rng.integers(0, rows, shape).astype(np.float32)])


def test_broadcast_to_a_shape_given_at_run_time(engine: Engine, rng: np.random.Generator) -> None:
    x, target = ops.parameter([-1, -1], np.float32), ops.parameter([3], np.int64)
    model = ov.Model([ops.broadcast(x, target, broadcast_spec="BIDIRECTIONAL")], [x, target])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for shape, wanted in (((1, 4), (2, 3, 4)), ((3, 1), (2, 1, 20)), ((1, 4), (2, 3, 1)), ((5, 33), (2, 5, 33))):
        check(network, oracle, [_floats(rng, *shape), np.array(wanted, np.int64)])


def test_explicit_axes_given_at_run_time(engine: Engine, rng: np.random.Generator) -> None:
    x, axes = ops.parameter([-1], np.float32), ops.parameter([1], np.int64)
    model = ov.Model([ops.broadcast(x, ops.constant([3, 3, 3], np.int64), axes, "EXPLICIT")], [x, axes])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for axis in (0, 2, 1):
        check(network, oracle, [_floats(rng, 3), np.array([axis], np.int64)])


def test_tile_with_repeats_given_at_run_time(engine: Engine, rng: np.random.Generator) -> None:
    x, repeats = ops.parameter([-1, -1], np.float32), ops.parameter([3], np.int64)
    model = ov.Model([ops.tile(x, repeats)], [x, repeats])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for shape, wanted in (((2, 3), (2, 1, 4)), ((2, 3), (1, 3, 1)), ((4, 40), (1, 2, 2)), ((2, 3), (2, 1, 4))):
        check(network, oracle, [_floats(rng, *shape), np.array(wanted, np.int64)])


def test_range_with_bounds_computed_on_the_device(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([-1], np.float32)
    top = ops.reduce_max(x, ops.constant([0], np.int64), False)
    model = ov.Model([ops.multiply(ops.range(np.float32(-1), top, np.float32(0.25), "f32"), np.float32(2))], [x])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for length in (3, 30, 1):
        check(network, oracle, [rng.uniform(0.1, 9, length).astype(np.float32)])


@pytest.mark.parametrize("bounds, kind, wanted", [
    ((5, 2, 1), "f32", np.zeros(0, np.float32)),
    ((0.9, 7.9, 2.9), "i64", np.array([0, 2, 4, 6])),
    ((2**40, 2**40 + 5, 2), "i64", 2**40 + np.array([0, 2, 4])),
])
def test_bounds_that_do_not_fit_the_output(engine: Engine, bounds: tuple[float, ...], kind: str,
                                           wanted: np.ndarray) -> None:
    given = [ops.parameter([], np.float32 if isinstance(bounds[0], float) else np.int64) for _ in bounds]
    network = network_of(engine, ov.Model([ops.range(*given, kind)], given))
    values = [np.array(b, g.get_element_type().to_dtype()) for b, g in zip(bounds, given, strict=True)]
    result, = execute(network, values)
    assert result.dtype == wanted.dtype and np.array_equal(result, wanted)


def test_cum_sum_along_an_axis_given_at_run_time(engine: Engine, rng: np.random.Generator) -> None:
    x, axis = ops.parameter([-1, -1, -1], np.float32), ops.parameter([], np.int64)
    model = ov.Model([ops.cum_sum(x, axis)], [x, axis])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for wanted in (0, 2, -2, 0):
        check(network, oracle, [_floats(rng, 4, 3, 5), np.array(wanted, np.int64)])


_WINDOW = np.hanning(9)[1:-1].astype(np.float32)
_SEGMENTS = np.array([0, 0, 1, 3, 3], np.int32)
_RUNS = {
    "BatchToSpace": (ov.opset2.batch_to_space, [
        (((8, 2, 3),), ((1, 2, 2), (0, 1, 0), (0, 0, 2))), (((6, 4, 5),), ((1, 1, 3), (0, 0, 1), (0, 2, 0)))]),
    "SpaceToBatch": (ov.opset2.space_to_batch, [
        (((1, 3, 6),), ((1, 2, 2), (0, 1, 0), (0, 0, 2))), (((2, 4, 5),), ((1, 1, 3), (0, 0, 1), (0, 2, 0)))]),
    "SliceScatter": (ov.opset15.slice_scatter, [
        (((5, 6), (2, 6)), ((1,), (5,), (2,), (0,))), (((4, 40), (4, 33)), ((3,), (36,), (1,), (1,)))]),
    "EmbeddingSegmentsSum": (lambda table, count: ov.opset3.embedding_segments_sum(
        table, np.array([2, 0, 1, 1, 2], np.int32), _SEGMENTS, ops.convert(ops.squeeze(count, np.int64(0)), "i32")),
        [(((3, 4),), ((4,),)), (((7, 2),), ((6,),))]),
    "SegmentMax": (lambda data, count: ov.opset16.segment_max(
        data, _SEGMENTS, ops.convert(ops.squeeze(count, np.int64(0)), "i32"), fill_mode="ZERO"),
        [(((5, 4),), ((4,),)), (((5, 2),), ((6,),))]),
    "DFT": (ov.opset7.dft, [(((3, 4, 2),), ((1, -2),)), (((5, 2, 2),), ((0, 1),))]),
    "RDFT": (ov.opset9.rdft, [(((3, 4, 5),), ((1, 2), (3, 4))), (((4, 3, 2),), ((-1, 0), (2, 3)))]),
    "IRDFT": (ov.opset9.irdft, [(((3, 4, 2),), ((1, 0),)), (((5, 2, 2),), ((0, 1),))]),
    "STFT": (lambda signal, size, step: ov.opset15.stft(
        signal, _WINDOW, ops.squeeze(size, np.int64(0)), ops.squeeze(step, np.int64(0)), True),
        [(((2, 40),), ((8,), (3,))), (((1, 21),), ((11,), (5,)))]),
    "ISTFT": (lambda spectra, size, step, samples: ov.opset16.istft(
        spectra, _WINDOW, *(ops.squeeze(x, np.int64(0)) for x in (size, step)), True, False,
        ops.squeeze(samples, np.int64(0))),
        [(((2, 5, 6, 2),), ((8,), (3,), (20,))), (((1, 6, 4, 2),), ((11,), (5,), (9,)))]),
}
"""By operation: what makes it of data and values, and the shapes of the data and the values of some runs."""


@pytest.mark.parametrize("name", _RUNS)
def test_values_given_at_run_time(engine: Engine, rng: np.random.Generator, name: str) -> None:
    build, runs = _RUNS[name]
    data = [ops.parameter([-1] * len(shape), np.float32) for shape in runs[0][0]]
    values = [ops.parameter([len(value)], np.int64) for value in runs[0][1]]
    network = network_of(engine, ov.Model([build(*data, *values)], [*data, *values]))
    for shapes, numbers in (*runs, runs[0]):
        given, constants = [_floats(rng, *shape) for shape in shapes], [np.array(value) for value in numbers]
        known = [ops.parameter(shape, np.float32) for shape in shapes]
        oracle = CpuPlugin(ov.Model([build(*known, *map(ops.constant, constants))], known))
        assert_close(execute(network, [*given, *constants])[0], oracle(given)[0], 1e-5)


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.bool_])
def test_coordinates_of_a_large_and_of_an_empty_tensor(engine: Engine, rng: np.random.Generator, kind: Any) -> None:
    x = ops.parameter([-1, -1, -1], kind)
    model = ov.Model([ops.non_zero(x, "i64")], [x])
    network = network_of(engine, model)
    for shape in ((40, 50, 60), (3, 0, 2), (1, 1, 1), (2, 129, 1)):
        data = rng.integers(0, 2, shape).astype(kind)
        result, = execute(network, [data])
        assert np.array_equal(result, np.array(np.nonzero(data)))


def test_a_transposed_number_stays_a_number(engine: Engine) -> None:
    n = ops.parameter([], np.int64)
    turned = ops.transpose(n, ops.constant(np.zeros(0, np.int64)))
    network = network_of(engine, ov.Model([ops.range(np.int64(0), turned, np.int64(1), "i64")], [n]))
    for count in (5, 0, 3, 70):
        result, = execute(network, [np.array(count, np.int64)])
        assert np.array_equal(result, np.arange(count))


def _ports(count: int) -> tuple[str, ...]:
    return tuple("abc"[:count])


_I64 = np.int64
HOST_CASES: list[tuple[Primitive, Any, list[np.ndarray]]] = [
    (Gather("p", _ports(3)), lambda x, i, a: ops.gather(x, i, a),
     [np.arange(12).reshape(3, 4), np.array([[0, -1, 7]]), np.array(1)]),
    (Gather("p", _ports(3), batch_dims=1), lambda x, i, a: ops.gather(x, i, a, 1),
     [np.arange(24).reshape(2, 3, 4), np.array([[0, -1], [5, 2]]), np.array(2)]),
    (Gather7("p", _ports(3)), None, [np.arange(4), np.array([0, -1, 4, 3]), np.array(0)]),
    (Broadcast("p", _ports(2)), lambda x, t: ops.broadcast(x, t), [np.arange(3).reshape(3, 1), np.array([2, 3, 2])]),
    (Broadcast("p", _ports(2), mode="bidirectional"),
     lambda x, t: ops.broadcast(x, t, broadcast_spec="BIDIRECTIONAL"),
     [np.arange(3).reshape(3, 1), np.array([1, 4])]),
    (Broadcast("p", _ports(3), mode="explicit"), lambda x, t, m: ops.broadcast(x, t, m, "EXPLICIT"),
     [np.arange(3), np.array([2, 3, 4]), np.array([1])]),
    (Tile("p", _ports(2)), lambda x, r: ops.tile(x, r), [np.arange(6).reshape(2, 3), np.array([2, 1, 2])]),
    (CumSum("p", _ports(2), exclusive=True, reverse=True), lambda x, a: ops.cum_sum(x, a, True, True),
     [np.arange(12).reshape(3, 4), np.array(0)]),
    (Range("p", _ports(3), output_type="i64"), lambda a, b, c: ops.range(a, b, c, "i64"),
     [np.array(7), np.array(-4), np.array(-3)]),
]


@pytest.mark.parametrize("primitive, build, values", HOST_CASES, ids=[
    f"{type(p).__name__}-{i}" for i, (p, _, _) in enumerate(HOST_CASES)])
def test_host_arithmetic_equals_the_oracle(primitive: Primitive, build: Any, values: list[np.ndarray]) -> None:
    given = [v.astype(_I64) for v in values]
    result, = primitive.evaluate(tuple(given), tuple(v.shape for v in given))
    if build is None:
        wanted = np.array([0, 0, 0, 3])
    else:
        data = ops.parameter(given[0].shape, _I64)
        model = ov.Model([build(data, *(ops.constant(v) for v in given[1:]))], [data])
        wanted = CpuPlugin(model)([given[0]])[0]
    assert result.dtype == _I64 and result.flags.c_contiguous
    assert np.array_equal(result, wanted)
