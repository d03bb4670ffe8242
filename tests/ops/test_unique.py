"""Unique against NumPy: where OpenVINO's CPU plugin differs from its own specification, and many elements."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset10 as ops

from clinfer.runtime.engine import Engine
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import ov


def _by_first_place(data: np.ndarray, axis: int | None) -> list[np.ndarray]:
    _, firsts, numbers, counts = np.unique(data, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    order = np.argsort(firsts)
    found = data.reshape(-1)[firsts[order]] if axis is None else data.take(firsts[order], axis)
    return [found, firsts[order], np.argsort(order)[numbers.reshape(-1)], counts[order]]


def _sorted(data: np.ndarray, axis: int | None) -> list[np.ndarray]:
    found, firsts, numbers, counts = np.unique(data, return_index=True, return_inverse=True, return_counts=True,
                                               axis=axis)
    return [found, firsts, numbers.reshape(-1), counts]


@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("kind, axis, shapes", [
    (np.int8, 1, ((2, 9, 2), (1, 1, 1), (3, 70, 1))),
    (np.int64, -1, ((3, 2, 40), (2, 1, 5), (2, 2, 0))),
    (np.float32, 0, ((30, 1, 2), (7, 2, 1))),
    (np.float32, None, ((20, 5, 30), (1, 1, 1), (0, 2, 3), (3, 1, 4))),
])
def test_different_elements_and_slices(engine: Engine, rng: np.random.Generator, kind: type, axis: int | None,
                                       shapes: tuple[tuple[int, ...], ...], is_sorted: bool) -> None:
    x = ops.parameter([-1, -1, -1], kind)
    node = ops.unique(x, axis, is_sorted, "i64", "i32")
    network = network_of(engine, ov.Model(node.outputs(), [x]))
    for shape in shapes:
        data = rng.integers(-1, 2, shape).astype(kind)
        results = execute(network, [data])
        wanted = (_sorted if is_sorted else _by_first_place)(data, axis)
        for index, (result, expected) in enumerate(zip(results, wanted, strict=True)):
            assert np.array_equal(result, expected), (shape, index)


def test_odd_floats(engine: Engine) -> None:
    x = ops.parameter([-1], np.float32)
    network = network_of(engine, ov.Model(ops.unique(x, None, True, "i64", "i64").outputs(), [x]))
    data = np.array([np.nan, 0.0, np.inf, -0.0, np.nan, -np.inf, 1e-44], np.float32)
    found, firsts, numbers, counts = execute(network, [data])
    assert np.array_equal(found[[0, 1, -2, -1]], [-np.inf, 0, np.inf, np.nan], equal_nan=True)
    assert np.array_equal(firsts[[0, 1, -2, -1]], [5, 1, 2, 0])
    assert numbers[1] == numbers[3] == 1 and counts[1] == 2 and counts[-1] == 2
