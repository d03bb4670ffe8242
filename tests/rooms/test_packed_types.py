"""Weights of 4 bits, which are constants only: converted on the device and on the host."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.convert import Convert
from clinfer.runtime.engine import Engine
from clinfer.topology import Constant, Topology


@pytest.mark.parametrize("shape", [(7, 3), (65, 91)], ids=["host", "device"])
@pytest.mark.parametrize("target", ["f32", "f16", "i8", "i32"])
@pytest.mark.parametrize("source, low, high", [("u4", 0, 16), ("i4", -8, 8)])
def test_convert(engine: Engine, rng: np.random.Generator, source: str, low: int, high: int, target: str,
                 shape: tuple[int, ...]) -> None:
    values = rng.integers(low, high, shape).astype(ElementType.of(source).numpy)
    topology = Topology(Constant("w", value=values, element_type=ElementType.of(source)),
                        Convert("y", ("w",), destination_type=target))
    network = Network(compile_topology(engine, topology, OpenVinoShapeInference()), engine.create_stream(),
                      OpenVinoShapeInference())
    assert np.array_equal(network.execute()["y"].to_numpy(), values.astype(ElementType.of(target).numpy))
