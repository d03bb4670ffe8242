"""TopK where OpenVINO leaves the result open: equal elements, NaN, and k at run time."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset11 as ops

from clinfer.base.errors import ClinferError
from clinfer.runtime.engine import Engine
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import ov


def _expected(data: np.ndarray, k: int, axis: int, mode: str) -> tuple[np.ndarray, np.ndarray]:
    """NumPy's stable order, in which NaN is the largest."""
    values = data.astype(np.float64)
    above = np.where(np.isnan(values), np.inf, values) if mode == "min" else -np.where(np.isnan(values), np.inf, values)
    places = np.argsort(above, axis, kind="stable").take(range(k), axis)
    return np.take_along_axis(data, places, axis), places


@pytest.mark.parametrize("mode", ["max", "min"])
@pytest.mark.parametrize("kind", [np.int8, np.float32])
def test_equal_elements_keep_their_order(engine: Engine, rng: np.random.Generator, kind: type, mode: str) -> None:
    x, k = ops.parameter([-1, -1, -1], kind), ops.parameter([], np.int64)
    node = ops.topk(x, k, 1, mode, "value", "i64")
    network = network_of(engine, ov.Model(node.outputs(), [x, k]))
    for shape, wanted in (((2, 5, 3), 2), ((1, 300, 2), 7), ((1, 300, 2), 300), ((2, 70, 1), 1), ((2, 5, 3), 5)):
        data = rng.integers(-2, 3, shape).astype(kind)
        if kind == np.float32:
            data[rng.random(shape) < 0.2] = np.nan
            data[data == 0] = rng.choice([0.0, -0.0], np.count_nonzero(data == 0))
        values, places = execute(network, [data, np.array(wanted, np.int64)])
        expected = _expected(data, wanted, 1, mode)
        assert np.array_equal(places, expected[1]) and np.array_equal(values, expected[0], equal_nan=True)


def test_more_elements_than_there_are(engine: Engine) -> None:
    x, k = ops.parameter([-1], np.float32), ops.parameter([], np.int64)
    network = network_of(engine, ov.Model(ops.topk(x, k, 0, "max", "value").outputs(), [x, k]))
    with pytest.raises(ClinferError, match="more elements than there are"):
        execute(network, [np.zeros(3, np.float32), np.array(4, np.int64)])
    values, places = execute(network, [np.array([1, 3, 2], np.float32), np.array(3, np.int64)])
    assert values.tolist() == [3, 2, 1] and places.tolist() == [1, 2, 0]
