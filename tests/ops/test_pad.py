"""Padding with a value that is known at run time only."""
from __future__ import annotations

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.ops.pad import Pad
from clinfer.runtime.engine import Engine
from clinfer.topology import Constant, Input, Topology
from tests.network.running import network_of
from tests.ops.case_runner import execute

_I64 = ElementType.of("i64")


def test_the_pad_value_may_be_an_input(engine: Engine, rng: np.random.Generator) -> None:
    topology = Topology(
        Input("x", shape=(3, 4), element_type=_I64), Input("value", shape=(), element_type=_I64),
        Constant("begins", value=np.array([1, -1]), element_type=_I64),
        Constant("ends", value=np.array([0, 2]), element_type=_I64),
        Pad("pad", ("x", "begins", "ends", "value")))
    data = rng.integers(-9, 9, (3, 4))
    network = network_of(engine, topology)
    for value in (7, -2):
        (result,) = execute(network, [data, np.array(value, np.int64)])
        assert np.array_equal(result, np.pad(data[:, 1:], ((1, 0), (0, 2)), constant_values=value))
