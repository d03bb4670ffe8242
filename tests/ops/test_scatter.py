"""Scattering where OpenVINO's CPU plugin leaves the result open: repeated and outlying indices, axes at run time."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset15 as ops

from clinfer.base.errors import ClinferError
from clinfer.ops.scatter import ScatterElementsUpdate, ScatterNDUpdate, ScatterUpdate
from clinfer.runtime.engine import Engine
from clinfer.topology import Primitive
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import ov

_COMBINE = {"none": lambda a, b: b, "sum": np.add, "mean": np.add, "prod": np.multiply, "min": np.minimum,
            "max": np.maximum}


def _elements(data: np.ndarray, indices: np.ndarray, updates: np.ndarray, axis: int, reduction: str,
              initial: bool) -> np.ndarray:
    result, counts = data.astype(np.float64), np.full(data.shape, int(initial and reduction != "none"))
    for at in np.ndindex(*indices.shape):
        index = int(indices[at])
        if -data.shape[axis] <= index < data.shape[axis]:
            to = (*at[:axis], index % data.shape[axis], *at[axis + 1:])
            result[to] = _COMBINE[reduction](result[to], updates[at]) if counts[to] else updates[at]
            counts[to] += 1
    return result / np.maximum(counts, 1) if reduction == "mean" else result


@pytest.mark.parametrize("initial", [True, False])
@pytest.mark.parametrize("reduction", list(_COMBINE))
def test_repeated_and_outlying_indices(engine: Engine, rng: np.random.Generator, reduction: str,
                                       initial: bool) -> None:
    x, axis = ops.parameter([-1, -1, -1], np.float32), ops.parameter([], np.int64)
    indices, updates = ops.parameter([-1, -1, -1], np.int64), ops.parameter([-1, -1, -1], np.float32)
    node = ops.scatter_elements_update(x, indices, updates, axis, reduction, initial)
    network = network_of(engine, ov.Model([node], [x, indices, updates, axis]))
    for shape, wanted in (((2, 5, 3), 1), ((4, 1, 7), 0), ((3, 3, 20), 2), ((3, 3, 2), 1)):
        data = rng.standard_normal(shape).astype(np.float32)
        places = tuple(9 if a == wanted else max(size - 1, 1) for a, size in enumerate(shape))
        index = rng.integers(-shape[wanted] - 2, shape[wanted] + 2, places)
        changes = rng.standard_normal(places).astype(np.float32)
        result, = execute(network, [data, index, changes, np.array(wanted, np.int64)])
        assert np.allclose(result, _elements(data, index, changes, wanted, reduction, initial), atol=1e-4)


def test_slices_along_an_axis_given_at_run_time(engine: Engine, rng: np.random.Generator) -> None:
    x, axis = ops.parameter([-1, -1], np.float32), ops.parameter([], np.int64)
    indices, updates = ops.parameter([-1, -1], np.int32), ops.parameter([-1, -1, -1], np.float32)
    network = network_of(engine, ov.Model([ops.scatter_update(x, indices, updates, axis)], [x, indices, updates, axis]))
    for wanted in (1, 0, -1):
        data = rng.standard_normal((4, 6)).astype(np.float32)
        places = rng.integers(0, data.shape[wanted], (2, 5)).astype(np.int32)
        changes = rng.standard_normal((4, 2, 5) if wanted else (2, 5, 6)).astype(np.float32)
        result, = execute(network, [data, places, changes, np.array(wanted, np.int64)])
        for at in np.ndindex(2, 5):
            if wanted:
                data[:, places[at]] = changes[:, at[0], at[1]]
            else:
                data[places[at]] = changes[at]
        assert np.array_equal(result, data)


def test_many_updates_of_one_element_keep_their_order(engine: Engine, rng: np.random.Generator) -> None:
    x, indices = ops.parameter([-1], np.float32), ops.parameter([-1, 1], np.int64)
    updates = ops.parameter([-1], np.float32)
    network = network_of(engine, ov.Model([ops.scatter_nd_update(x, indices, updates)], [x, indices, updates]))
    for count, size in ((2000, 3), (1, 1), (0, 4), (5000, 2)):
        data, changes = (rng.standard_normal(n).astype(np.float32) for n in (size, count))
        places = rng.integers(-size - 1, size + 1, (count, 1))
        result, = execute(network, [data, places, changes])
        for place, change in zip(places[:, 0], changes, strict=True):
            if -size <= place < size:
                data[place] = change
        assert np.array_equal(result, data)


@pytest.mark.parametrize("primitive, shapes, bound", [
    (ScatterUpdate("p", tuple("abcd")), ((3, 4, 5), (2, 2), (3, 2, 2, 5)), 5),
    (ScatterUpdate("p", tuple("abcd")), ((3, 4, 5), (), (3, 5)), 4),
    (ScatterElementsUpdate("p", tuple("abcd")), ((3, 4, 5), (3, 7, 2), (3, 7, 2)), 5),
    (ScatterNDUpdate("p", tuple("abc")), ((3, 4, 5), (6, 2), (6, 5)), 4),
])
def test_host_arithmetic_equals_the_kernels(engine: Engine, rng: np.random.Generator, primitive: Primitive,
                                            shapes: tuple[tuple[int, ...], ...], bound: int) -> None:
    given = [rng.integers(-9, 9, shapes[0]), rng.integers(-bound, bound, shapes[1]), rng.integers(-9, 9, shapes[2]),
             np.array(1)][:len(primitive.inputs)]
    parameters = [ops.parameter(list(a.shape), np.int64) for a in given]
    make = {ScatterUpdate: ops.scatter_update, ScatterElementsUpdate: ops.scatter_elements_update,
            ScatterNDUpdate: ops.scatter_nd_update}[type(primitive)]
    result, = execute(network_of(engine, ov.Model([make(*parameters)], parameters)), given)
    evaluated, = primitive.evaluate(tuple(given), tuple(a.shape for a in given))
    assert np.array_equal(result, evaluated)


@pytest.mark.parametrize("reduction", ["none", "sum"])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_the_ranks_tell_how_long_places_of_open_length_are(engine: Engine, rng: np.random.Generator, length: int,
                                                           reduction: str) -> None:
    x, indices = ops.parameter([-1, -1, -1], np.float32), ops.parameter([-1, -1], np.int64)
    updates = ops.parameter([-1] * (4 - length), np.float32)
    node = ops.scatter_nd_update(x, indices, updates, reduction)
    network = network_of(engine, ov.Model([node], [x, indices, updates]))
    for shape, count in (((3, 4, 5), 2), ((2, 2, 9), 1), ((4, 3, 2), 0), ((3, 5, 4), 2)):
        data = rng.standard_normal(shape).astype(np.float32)
        places = rng.permutation(2)[:count, None] + np.zeros((1, length), np.int64)
        changes = rng.standard_normal((count, *shape[length:])).astype(np.float32)
        result, = execute(network, [data, places, changes])
        for place, change in zip(places, changes, strict=True):
            data[tuple(place)] = data[tuple(place)] + change if reduction == "sum" else change
        assert np.allclose(result, data, atol=1e-5)
    with pytest.raises(ClinferError, match="ScatterNDUpdate"):
        execute(network, [np.zeros((3, 4, 5), np.float32), np.zeros((2, 4 - length if length != 2 else 1), np.int64),
                          np.zeros((2, *(4, 5, 6)[:3 - length]), np.float32)])
