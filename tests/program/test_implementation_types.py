"""Implementation types: what computes a node, why the others do not, and how a demand changes that."""
from __future__ import annotations

import numpy as np
import pytest

import clinfer
from clinfer.base.errors import ClinferError
from clinfer.base.shape import ANY
from clinfer.network.network import Network
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.matmul.op import MatMul
from clinfer.ops.reshape import Reshape
from clinfer.ops.shape_of import ShapeOf
from clinfer.ops.softmax import Softmax
from clinfer.ops.transpose import Transpose
from clinfer.runtime.engine import Engine
from clinfer.topology import Topology
from tests.ops.case_runner import execute
from tests.program.building import given, numbers


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


def test_each_type_says_why_it_does_not_compute_a_node(engine: Engine, rng: np.random.Generator) -> None:
    network = clinfer.build_network(engine, _products())
    assert _types(network) == {"x": "", "y": "", "z": "", "flat": "ocl", "batches": "ocl"}
    nodes = network.program.explain()
    assert [nodes.node(name).refused_types for name in ("flat", "x")] == [(("host", "NumPy does not compute it"),), ()]
    forced = clinfer.build_network(engine, _products(), None, {"flat": ("", "", "ocl")})
    assert forced.program.explain().node("flat").why == "implementation type ocl is forced"
    for each in (network, forced):
        _check_products(each, rng)


def _turned() -> Topology:
    return Topology(given("x", ANY, 3), numbers("order", 1, 0), Softmax("soft", ("x",), axis=1),
                    Transpose("turned", ("soft", "order")), Softmax("last", ("turned",), axis=1))


def test_numpy_computes_what_it_is_told_to(engine: Engine, rng: np.random.Generator) -> None:
    network = clinfer.build_network(engine, _turned(), None, {"turned": ("", "", "host")})
    assert _types(network) == {"x": "", "soft": "ocl", "turned": "host", "last": "ocl"}
    plain = clinfer.build_network(engine, _turned())
    assert _types(plain)["turned"] == "ocl"
    assert dict(plain.program.explain().node("turned").refused_types) == {"host": "it reads what the device has"}
    for rows in (5, 2, 5):
        x = rng.standard_normal((rows, 3), dtype=np.float32)
        assert np.array_equal(*(execute(n, [x])[0] for n in (network, plain)))


def test_shape_arithmetic_may_be_sent_to_the_device(engine: Engine, rng: np.random.Generator) -> None:
    topology = Topology(given("x", ANY, 3), given("y", 3, ANY), ShapeOf("shape", ("x",)),
                        Eltwise("twice", ("shape", "shape"), mode="Add"),
                        Eltwise("less", ("twice", "shape"), mode="Subtract"),
                        Reshape("shaped", ("y", "less")), Softmax("soft", ("shaped",), axis=1))
    for type_ in ("ocl", "host"):
        network = clinfer.build_network(engine, topology, None, {"twice": ("", "", type_)})
        types = _types(network)
        assert types == {"x": "", "y": "", "shape": "host", "twice": type_, "less": "host", "shaped": "", "soft": "ocl"}
        for rows in (4, 1):
            x, y = (rng.standard_normal(shape, dtype=np.float32) for shape in ((rows, 3), (3, rows)))
            result, = execute(network, [x, y])
            expected = np.exp(y.reshape(rows, 3).astype(np.float64))
            assert np.allclose(result, expected / expected.sum(1, keepdims=True), atol=1e-6)


def test_a_type_that_cannot_be_forced_says_why(engine: Engine) -> None:
    with pytest.raises(ClinferError, match=r"type 'host' cannot be used[^$]*'soft'[^$]*NumPy does not compute it"):
        clinfer.build_network(engine, _turned(), None, {"soft": ("", "", "host")})
    with pytest.raises(ClinferError, match=r"unknown: blas"):
        clinfer.build_network(engine, _turned(), None, {"soft": ("", "", "blas")})
