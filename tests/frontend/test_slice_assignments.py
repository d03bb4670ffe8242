"""Assignments to parts of tensors, as PyTorch's exporter writes them."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from openvino import opset15 as op

from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.transformations import prepare
from clinfer.runtime.engine import Engine
from tests.network.running import check, network_of
from tests.oracle import CpuPlugin

_END = np.iinfo(np.int64).max
Part = Callable[[ov.Node], ov.Node]


def _sliced(start: list[int], stop: list[int], step: list[int], axes: list[int]) -> Part:
    return lambda data: op.slice(data, *map(np.array, (start, stop, step, axes)))


def _picked(place: int, axis: int) -> Part:
    return lambda data: op.gather(data, np.int64(place), np.int64(axis))


PARTS: dict[str, tuple[Part, ...]] = {
    "behind the first": (_sliced([1], [_END], [1], [1]),),
    "all but the last": (_sliced([0], [-1], [1], [1]),),
    "every second of two axes": (_sliced([0, 1], [_END, 4], [2, 1], [-1, 1]),),
    "one behind the other": (_sliced([1], [4], [1], [1]), _sliced([2], [_END], [1], [2])),
    "one place": (_picked(-1, 1),),
    "a place, then a slice": (_picked(0, 0), _sliced([1], [3], [1], [0]), _picked(1, -1)),
    "backwards": (_sliced([-1], [-4], [-1], [1]),),
    "nothing": (_sliced([3], [2], [1], [1]),),
    "all": (),
}


def _numbers(data: ov.Node) -> ov.Node:
    count = op.reduce_prod(op.shape_of(data), np.array(0))
    return op.reshape(op.range(np.int64(0), count, np.int64(1), "i64"), op.shape_of(data), False)


def _assigned(data: ov.Node, given: ov.Node, part: tuple[Part, ...], numbers: ov.Node | None = None) -> ov.Node:
    places = _numbers(data) if numbers is None else numbers
    shape = data
    for step in part:
        places, given, shape = step(places), step(given), step(shape)
    written = op.scatter_nd_update(
        op.reshape(data, np.array([-1]), False), op.reshape(places, np.array([-1, 1]), False),
        op.reshape(op.broadcast(given, op.shape_of(shape)), np.array([-1]), False))
    return op.reshape(written, op.shape_of(data), False)


def _left(model: ov.Model) -> int:
    return sum(node.get_type_name() == "ScatterNDUpdate" for node in prepare(model).get_ordered_ops())


def _check(engine: Engine, model: ov.Model, rng: np.random.Generator) -> None:
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for shape in ((2, 5, 6), (1, 5, 3), (3, 5, 7), (2, 5, 6)):
        check(network, oracle, [rng.standard_normal(shape).astype(np.float32) for _ in range(len(model.inputs))])


@pytest.mark.parametrize("name", PARTS)
def test_parts_are_copied(engine: Engine, rng: np.random.Generator, name: str) -> None:
    """The second assignment is one to the result of the first."""
    data, given = (op.parameter([-1, 5, -1], np.float32) for _ in range(2))
    one = _assigned(op.relu(data), given, PARTS[name])
    model = ov.Model([op.exp(_assigned(one, op.negative(given), PARTS["behind the first"]))], [data, given], name)
    assert _left(model) == 0
    _check(engine, model, rng)


def test_what_is_assigned_to_zeros_and_read_flat(engine: Engine, rng: np.random.Generator) -> None:
    data, given = (op.parameter([-1, 5, -1], np.float32) for _ in range(2))
    zeros = op.broadcast(np.float32(0), op.shape_of(data))
    written = _assigned(zeros, given, PARTS["every second of two axes"], _numbers(data)).input_value(0).get_node()
    model = ov.Model([op.add(written, op.reshape(data, np.array([-1]), False))], [data, given], "flat")
    assert _left(model) == 0
    _check(engine, model, rng)


def test_other_places_stay(engine: Engine, rng: np.random.Generator) -> None:
    """Numbers in another order, an axis that is sliced twice, and a place that is data."""
    data, given = (op.parameter([-1, 5, -1], np.float32) for _ in range(2))
    behind = PARTS["behind the first"]
    backwards = op.subtract(op.subtract(op.reduce_prod(op.shape_of(data), np.array(0)), np.int64(1)), _numbers(data))
    place = op.convert(op.reduce_max(op.minimum(op.abs(given), np.float32(2)), np.array([0, 1, 2])), "i64")
    models = {
        "order": _assigned(data, given, behind, backwards),
        "twice": _assigned(data, given, (*behind, *behind)),
        "data": _assigned(data, given, (lambda each: op.gather(each, place, np.int64(1)),)),
    }
    for name, result in models.items():
        model = ov.Model([op.relu(result)], [data, given], name)
        assert _left(model) == 1, name
        _check(engine, model, rng)
