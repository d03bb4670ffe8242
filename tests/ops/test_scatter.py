"""Scattering where OpenVINO's CPU plugin leaves the result open: repeated and outlying indices, axes at run time."""
from __future__ import annotations

from collections.abc import Callable

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
    (ScatterUpdate("p", tuple("abcd")), ((3, 4, 5), (2, 2), (3, 2, 2, 5)), 4),
    (ScatterUpdate("p", tuple("abcd")), ((3, 4, 5), (), (3, 5)), 4),
    (ScatterElementsUpdate("p", tuple("abcd")), ((3, 4, 5), (3, 7, 2), (3, 7, 2)), 4),
    (ScatterNDUpdate("p", tuple("abc")), ((3, 4, 5), (6, 2), (6, 5)), 3),
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


_PLACES: dict[str, tuple[tuple[int, ...], Callable[[ov.Node, ov.Node], ov.Node]]] = {
    "ScatterUpdate": ((2,), lambda x, indices: ops.scatter_update(
        x, indices, np.zeros((2, 3), np.float32), np.array(0))),
    "ScatterElementsUpdate": ((1, 2), lambda x, indices: ops.scatter_elements_update(
        x, indices, np.ones((1, 2), np.float32), np.array(0), "sum")),
    "ScatterNDUpdate": ((2, 1), lambda x, indices: ops.scatter_nd_update(x, indices, np.zeros((2, 3), np.float32))),
    "GatherElements": ((2, 3), lambda x, indices: ops.gather_elements(x, indices, 0))}
"""Operations on x [?, 3] with indices of its first axis, of that shape; OpenVINO's CPU plugin refuses those outside."""


@pytest.mark.parametrize("index", [4, -5])
@pytest.mark.parametrize("kind", list(_PLACES))
def test_constant_indices_outside_are_refused(engine: Engine, rng: np.random.Generator, kind: str, index: int) -> None:
    x, (shape, make) = ops.parameter([-1, 3], np.float32), _PLACES[kind]
    node = make(x, ops.constant(np.resize([1, index], shape)))
    node.set_friendly_name("places")
    network = network_of(engine, ov.Model([ops.relu(node)], [x]))
    for rows in (5, 7):
        execute(network, [rng.random((rows, 3)).astype(np.float32)])
    with pytest.raises(ClinferError, match=rf"{kind} 'places'(.|\n)*indices: .*{index}(.|\n)*: 4"):
        execute(network, [np.zeros((4, 3), np.float32)])
    execute(network, [np.zeros((6, 3), np.float32)])


@pytest.mark.parametrize("kind", list(_PLACES))
def test_other_indices_outside_touch_nothing(engine: Engine, kind: str) -> None:
    shape, make = _PLACES[kind]
    x, indices = ops.parameter([-1, 3], np.float32), ops.parameter(list(shape), np.int64)
    network = network_of(engine, ov.Model([ops.relu(make(x, indices))], [x, indices]))
    for rows in (4, 5):
        data = np.ones((rows, 3), np.float32)
        result, = execute(network, [data, np.resize([rows, -rows - 1], shape)])
        assert np.array_equal(result, np.zeros(shape) if kind == "GatherElements" else data)


def test_host_arithmetic_refuses_indices_outside() -> None:
    primitive = ScatterUpdate("p", tuple("abcd"), origin="places")
    with pytest.raises(ClinferError, match=r"ScatterUpdate 'p' \(layer 'places'\)(.|\n)*size of the axis: 3"):
        primitive.evaluate((np.zeros(3), np.array([3]), np.ones(1), np.array(0)), ((3,), (1,), (1,), ()))
