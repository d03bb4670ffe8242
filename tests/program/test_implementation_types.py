"""Implementation types: what computes a node, why the others do not, and how a demand or a library changes that."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import clinfer
from clinfer.base.errors import ClinferError
from clinfer.base.shape import ANY
from clinfer.kernels.library import Library
from clinfer.network.network import Network
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.matmul.op import MatMul
from clinfer.ops.reshape import Reshape
from clinfer.ops.shape_of import ShapeOf
from clinfer.ops.softmax import Softmax
from clinfer.ops.transpose import Transpose
from clinfer.runtime.engine import Engine
from clinfer.topology import Topology
from tests.program.building import given, numbers
from tests.program.toy_library import library
from tests.rooms.room_runner import execute


def _products() -> Topology:
    return Topology(given("x", ANY, 7), given("y", 7, 5), given("z", 2, 5, 3), MatMul("flat", ("x", "y")),
                    MatMul("batches", ("flat", "z")))


def _types(network: Network) -> dict[str, str]:
    return {node.primitive: node.implementation_type for node in network.program.explain().nodes}


def _check_products(network: Network, rng: np.random.Generator) -> None:
    for rows in (4, 1, 9):
        x, y, z = (rng.standard_normal(shape, dtype=np.float32) for shape in ((rows, 7), (7, 5), (2, 5, 3)))
        result, = execute(network, [x, y, z])
        expected = x.astype(np.float64) @ y @ z
        assert np.abs(result - expected).max() <= 1e-5 * np.abs(expected).max()


def test_a_library_computes_what_it_does_best(engine: Engine, rng: np.random.Generator) -> None:
    network = clinfer.build_network(engine, _products(), libraries=[library(1000.0)])
    assert _types(network) == {"x": "", "y": "", "z": "", "flat": "toy", "batches": "ocl"}
    _check_products(network, rng)
    nodes = network.program.explain()
    assert dict(nodes.node("batches").refused_types)["toy"] == "made for two matrices of f32"
    refused = dict(nodes.node("flat").refused_types)
    assert refused["cpu"] == "NumPy does not compute it" and "is below 1000 of toy_product" in refused["ocl"]


def test_a_type_can_be_forced(engine: Engine, rng: np.random.Generator) -> None:
    network = clinfer.build_network(engine, _products(), libraries=[library(-1000.0)])
    assert _types(network)["flat"] == "ocl"
    assert "score -1000 is below" in dict(network.program.explain().node("flat").refused_types)["toy"]
    forced = clinfer.build_network(engine, _products(), None, {"flat": ("", "", "toy")}, [library(-1000.0)])
    node = forced.program.explain().node("flat")
    assert node.implementation_type == "toy" and node.why == "implementation type toy is forced"
    _check_products(forced, rng)


def test_a_library_that_refuses_the_device_is_not_used(engine: Engine) -> None:
    refusing = library(1000.0, "needs a licence")
    network = clinfer.build_network(engine, _products(), libraries=[refusing])
    assert dict(network.program.explain().node("flat").refused_types)["toy"] == "needs a licence"
    with pytest.raises(ClinferError, match=r"no kernel supports[^$]*'flat'[^$]*implementation type toy is forced"):
        clinfer.build_network(engine, _products(), None, {"flat": ("", "", "toy")}, [refusing])


def test_a_library_has_a_type_of_its_own() -> None:
    rows, = library(1.0).kernels.values()
    for name, kernels in (("ocl", rows), ("", ()), ("other", rows), ("toy", (replace(rows[0], type="ocl"),))):
        with pytest.raises(ClinferError, match="need an implementation type of their own"):
            Library(name, {MatMul: kernels})


def _turned() -> Topology:
    return Topology(given("x", ANY, 3), numbers("order", 1, 0), Softmax("soft", ("x",), axis=1),
                    Transpose("turned", ("soft", "order")), Softmax("last", ("turned",), axis=1))


def test_numpy_computes_what_it_is_told_to(engine: Engine, rng: np.random.Generator) -> None:
    network = clinfer.build_network(engine, _turned(), None, {"turned": ("", "", "cpu")})
    assert _types(network) == {"x": "", "soft": "ocl", "turned": "cpu", "last": "ocl"}
    plain = clinfer.build_network(engine, _turned())
    assert _types(plain)["turned"] == "ocl"
    assert dict(plain.program.explain().node("turned").refused_types) == {"cpu": "it reads what the device has"}
    for rows in (5, 2, 5):
        x = rng.standard_normal((rows, 3), dtype=np.float32)
        assert np.array_equal(*(execute(n, [x])[0] for n in (network, plain)))


def test_shape_arithmetic_may_be_sent_to_the_device(engine: Engine, rng: np.random.Generator) -> None:
    topology = Topology(given("x", ANY, 3), given("y", 3, ANY), ShapeOf("shape", ("x",)),
                        Eltwise("twice", ("shape", "shape"), mode="Add"),
                        Eltwise("less", ("twice", "shape"), mode="Subtract"),
                        Reshape("shaped", ("y", "less")), Softmax("soft", ("shaped",), axis=1))
    for type_ in ("ocl", "cpu"):
        network = clinfer.build_network(engine, topology, None, {"twice": ("", "", type_)})
        types = _types(network)
        assert types["shape"] == "cpu" and types["less"] == "cpu" and types["twice"] == type_ and types["soft"] == "ocl"
        for rows in (4, 1):
            x, y = (rng.standard_normal(shape, dtype=np.float32) for shape in ((rows, 3), (3, rows)))
            result, = execute(network, [x, y])
            expected = np.exp(y.reshape(rows, 3).astype(np.float64))
            assert np.allclose(result, expected / expected.sum(1, keepdims=True), atol=1e-6)


def test_a_type_that_cannot_be_forced_says_why(engine: Engine) -> None:
    with pytest.raises(ClinferError, match=r"type 'cpu' cannot be used[^$]*'soft'[^$]*NumPy does not compute it"):
        clinfer.build_network(engine, _turned(), None, {"soft": ("", "", "cpu")})
    with pytest.raises(ClinferError, match=r"unknown: blas"):
        clinfer.build_network(engine, _turned(), None, {"soft": ("", "", "blas")})
