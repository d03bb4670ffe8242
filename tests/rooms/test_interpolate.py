"""Antialiased linear interpolation, which the CPU plugin computes without the filter."""
from __future__ import annotations

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.ops.interpolate import Interpolate
from clinfer.runtime.engine import Engine
from clinfer.topology import Constant, Input, Topology
from tests.network.running import network_of
from tests.oracle import assert_close
from tests.rooms.room_runner import execute

_I64 = ElementType.of("i64")


def _filter(length: int, resized: int) -> np.ndarray:
    """[resized, length] weights of a triangle as wide as two input steps per output element."""
    scale = resized / length
    places = (np.arange(resized) + 0.5) / scale - 0.5
    weights = np.maximum(1 - np.abs(scale * (places[:, None] - np.arange(length))), 0)
    return weights / weights.sum(1, keepdims=True)


def test_downsizing_with_antialias_filters(engine: Engine, rng: np.random.Generator) -> None:
    topology = Topology(
        Input("x", shape=(2, 3, 16, 15), element_type=ElementType.of("f32")),
        Constant("sizes", value=np.array([4, 5]), element_type=_I64),
        Constant("axes", value=np.array([2, 3]), element_type=_I64),
        Interpolate("resize", ("x", "sizes", "axes"), mode="linear", antialias=True))
    data = rng.standard_normal((2, 3, 16, 15)).astype(np.float32)
    (result,) = execute(network_of(engine, topology), [data])
    expected = np.einsum("bfyx,Yy,Xx->bfYX", data, _filter(16, 4), _filter(15, 5)).astype(np.float32)
    assert_close(result, expected, 1e-5)
