"""Axes that come at run time: their number alone tells the rank of the result."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset13 as ops
from openvino import opset15

from clinfer.base.errors import ClinferError
from clinfer.network.network import Network
from clinfer.runtime.engine import Engine
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import ov


def _axes(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def _squeezing(engine: Engine) -> Network:
    x, axes = ops.parameter([-1, -1, -1, -1], np.float32), ops.parameter([2], np.int64)
    return network_of(engine, ov.Model([ops.sigmoid(ops.squeeze(x, axes))], [x, axes]))


def test_squeeze(engine: Engine, rng: np.random.Generator) -> None:
    network = _squeezing(engine)
    for shape, wanted in (((1, 3, 1, 5), (0, 2)), ((1, 1, 3, 5), (1, 0)), ((2, 1, 7, 1), (-1, -3)),
                          ((1, 3, 1, 5), (0, 2))):
        data = rng.standard_normal(shape).astype(np.float32)
        result, = execute(network, [data, _axes(*wanted)])
        expected = 1 / (1 + np.exp(-data.squeeze(wanted)))
        assert result.shape == expected.shape
        assert np.allclose(result, expected, rtol=1e-5)


@pytest.mark.parametrize("wanted", [(0, 1), (0, 0), (0, 4)])
def test_axes_that_cannot_be_squeezed_are_errors(engine: Engine, rng: np.random.Generator,
                                                 wanted: tuple[int, ...]) -> None:
    network, data = _squeezing(engine), rng.standard_normal((1, 3, 1, 5)).astype(np.float32)
    with pytest.raises(ClinferError, match="Squeeze"):
        execute(network, [data, _axes(*wanted)])
    assert execute(network, [data, _axes(0, 2)])[0].shape == (3, 5)


def test_unsqueeze(engine: Engine, rng: np.random.Generator) -> None:
    x, axes = ops.parameter([-1, -1], np.float32), ops.parameter([2], np.int64)
    network = network_of(engine, ov.Model([ops.relu(ops.unsqueeze(x, axes))], [x, axes]))
    for shape, wanted in (((3, 5), (0, 2)), ((3, 5), (-1, -2)), ((1, 70), (3, 0)), ((3, 5), (0, 2))):
        data = rng.standard_normal(shape).astype(np.float32)
        result, = execute(network, [data, _axes(*wanted)])
        assert np.array_equal(result, np.maximum(np.expand_dims(data, wanted), 0))


def test_reduce(engine: Engine, rng: np.random.Generator) -> None:
    x, axes = ops.parameter([-1, -1, -1], np.float32), ops.parameter([2], np.int64)
    network = network_of(engine, ov.Model([ops.negative(ops.reduce_sum(x, axes, False))], [x, axes]))
    for shape, wanted in (((3, 4, 5), (0, 2)), ((3, 4, 5), (1, 0)), ((2, 40, 33), (-1, -2)), ((3, 4, 5), (0, 2))):
        data = rng.standard_normal(shape).astype(np.float32)
        result, = execute(network, [data, _axes(*wanted)])
        expected = -data.astype(np.float64).sum(wanted)
        assert result.shape == expected.shape
        assert np.allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_an_unknown_number_of_axes_is_an_error(engine: Engine) -> None:
    x, axes = ops.parameter([-1, -1], np.float32), ops.parameter([-1], np.int64)
    with pytest.raises(ClinferError, match="dynamic rank"):
        network_of(engine, ov.Model([ops.reduce_sum(x, axes, False)], [x, axes]))


def test_axes_that_may_stay_tell_nothing(engine: Engine) -> None:
    x, axes = ops.parameter([-1, -1], np.float32), ops.parameter([1], np.int64)
    with pytest.raises(ClinferError, match="dynamic rank"):
        network_of(engine, ov.Model([opset15.squeeze(x, axes, True)], [x, axes]))


def test_axes_that_follow_from_a_rank(engine: Engine, rng: np.random.Generator) -> None:
    """As importers write a reduction over all axes of a tensor whose sizes, but not whose rank, are open."""
    x, sizes = ops.parameter([1, 1], np.float32), ops.parameter([2], np.int64)
    spread = ops.broadcast(x, sizes, broadcast_spec="BIDIRECTIONAL")
    rank = ops.squeeze(ops.shape_of(ops.shape_of(spread)), ops.constant([0]))
    axes = ops.range(ops.constant(np.int64(0)), rank, ops.constant(np.int64(1)), output_type="i64")
    network = network_of(engine, ov.Model([ops.negative(ops.reduce_sum(spread, axes, False))], [x, sizes]))
    for wanted in ((3, 4), (1, 1), (7, 65)):
        data = rng.standard_normal((1, 1), np.float32)
        result, = execute(network, [data, _axes(*wanted)])
        assert result.shape == ()
        assert np.allclose(result, -data.sum() * np.prod(wanted), rtol=1e-4)
