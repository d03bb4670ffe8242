"""Types of 4 bits: converted from and to, on the device and on the host."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.shape import ANY
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.convert import Convert
from clinfer.runtime.engine import Engine
from clinfer.topology import Constant, Input, Topology
from tests.ops.case_runner import execute


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


@pytest.mark.parametrize("target, low, high", [("u4", 0, 16), ("i4", -8, 8)])
@pytest.mark.parametrize("source", ["f32", "f16", "i32", "i64", "i8"])
def test_convert_to_4_bits(engine: Engine, rng: np.random.Generator, source: str, target: str, low: int,
                           high: int) -> None:
    topology = Topology(Input("x", shape=(ANY, ANY), element_type=ElementType.of(source)),
                        Convert("y", ("x",), destination_type=target))
    network = Network(compile_topology(engine, topology, OpenVinoShapeInference()), engine.create_stream(),
                      OpenVinoShapeInference())
    for shape in ((5, 7), (3, 2), (1, 1), (0, 4), (65, 91)):
        values = rng.integers(low, high, shape).astype(ElementType.of(source).numpy)
        assert np.array_equal(execute(network, [values])[0], values.astype(ElementType.of(target).numpy)), shape


@pytest.mark.parametrize("target", ["u4", "i4"])
def test_what_4_bits_cannot_hold_wraps(engine: Engine, target: str) -> None:
    values = np.arange(-40, 41, dtype=np.float32)
    wrapped = values.astype(np.int64) & 15
    wrapped = np.where((target == "i4") & (wrapped > 7), wrapped - 16, wrapped)
    for given in (Constant("x", value=values, element_type=ElementType.of("f32")),
                  Input("x", shape=(81,), element_type=ElementType.of("f32"))):
        topology = Topology(given, Convert("y", ("x",), destination_type=target))
        network = Network(compile_topology(engine, topology, OpenVinoShapeInference()), engine.create_stream(),
                          OpenVinoShapeInference())
        assert np.array_equal(execute(network, [values][:len(network.program.inputs)])[0], wrapped)
