"""Remainders of floats are those of NumPy in float64, however large the quotient is."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.eltwise import Eltwise
from clinfer.runtime.engine import Engine
from clinfer.topology import Input, Topology
from tests.ops.case_runner import execute

_EDGES = ((0.0, 2.5), (-0.0, 2.5), (7.5, 2.5), (-7.5, 2.5), (3e38, 2.5), (-3e38, 2.5), (3.0, -np.inf), (3.0, np.inf),
          (-1e-30, 1e-30), (np.inf, 2.0), (np.nan, 2.0), (2.0, np.nan), (2.0, 0.0))


@pytest.mark.parametrize("mode, by_numpy", [("FloorMod", np.mod), ("Mod", np.fmod)])
def test_device_and_host_agree_with_numpy(engine: Engine, rng: np.random.Generator, mode: str,
                                          by_numpy: np.ufunc) -> None:
    a = np.array([a for a, _ in _EDGES] + list(rng.normal(size=200) * 10.0**rng.uniform(-2, 8, 200)), np.float32)
    b = np.array([b for _, b in _EDGES] + list(rng.uniform(0.1, 3, 200) * rng.choice([-1, 1], 200)), np.float32)
    node = Eltwise("y", ("a", "b"), mode=mode)
    topology = Topology(Input("a", shape=a.shape, element_type=ElementType.of("f32")),
                        Input("b", shape=b.shape, element_type=ElementType.of("f32")), node)
    network = Network(compile_topology(engine, topology, OpenVinoShapeInference()), engine.create_stream(),
                      OpenVinoShapeInference())
    with np.errstate(invalid="ignore"):
        wanted = by_numpy(a.astype(np.float64), b.astype(np.float64))
    for found in (execute(network, [a, b])[0], node.evaluate((a, b), (a.shape, b.shape))[0]):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
