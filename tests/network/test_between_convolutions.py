"""What moves channels between convolutions, which want them in blocks, for one, two and three spatial axes."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.runtime.engine import Engine
from tests.network.running import check, network_of
from tests.oracle import CpuPlugin, ov

_END = 2**31 - 1
MOVES: tuple[Callable[[ov.Output], ov.Output], ...] = (
    lambda y: ops.concat([y, y, y], 1).output(0),
    lambda y: ops.split(y, np.int64(1), 3).output(1),
    lambda y: ops.variadic_split(y, np.int64(1), np.array([5, 16, 3])).output(1),
    lambda y: ops.slice(y, np.array([7]), np.array([23]), np.array([1]), np.array([1])).output(0),
    lambda y: ops.slice(y, np.array([-1]), np.array([-_END]), np.array([-1]), np.array([1])).output(0),
    lambda y: ops.strided_slice(y, np.array([0, 3]), np.array([0, 20]), np.array([1, 1]), [1, 0], [1, 0]).output(0),
)


def _convolution(data: ov.Output, channels: int, spatial: int, rng: np.random.Generator) -> ov.Output:
    given = data.get_partial_shape()[1].get_length()
    weights = rng.uniform(-1, 1, (channels, given, *(3,) * spatial)).astype(np.float32)
    return ops.convolution(data, weights, *([1] * spatial,) * 4).output(0)


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_channels_moved_between_convolutions(engine: Engine, rng: np.random.Generator, spatial: int) -> None:
    x = ops.parameter([-1, 3, *(-1,) * spatial], np.float32)
    first = _convolution(x.output(0), 24, spatial, rng)
    model = ov.Model([_convolution(move(first), 20, spatial, rng) for move in MOVES], [x])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for batch, length in ((1, 7), (2, 18), (1, 1), (3, 5)):
        check(network, oracle, [rng.standard_normal((batch, 3, *(length,) * spatial)).astype(np.float32)])
