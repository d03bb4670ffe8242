"""Compressed weights that become f32 when the program is built are the products of f32, not of f16."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.shape import ANY
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.convert import Convert
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.gather import Gather
from clinfer.ops.matmul import MatMul
from clinfer.ops.reshape import Reshape
from clinfer.runtime.engine import Engine
from clinfer.topology import Constant, Primitive, Topology
from tests.ops.case_runner import execute
from tests.oracle import assert_close
from tests.program.building import constant, given, numbers

ROWS, WIDTH = 24, 32


def _decompressed(rng: np.random.Generator, kind: str, groups: int) -> tuple[list[Primitive], np.ndarray]:
    """A chain that ends at `weights`, of f32, and what it is in float64."""
    element_type = ElementType.of(kind)
    shape = (ROWS, groups, WIDTH // groups)
    values = element_type.decode(element_type.encode(rng.integers(-8, 8, ROWS * WIDTH).astype(np.float32)),
                                 ROWS * WIDTH).reshape(shape)
    scale = rng.uniform(0.5, 1.5, (ROWS, groups, 1)).astype(np.float16)
    return [Constant("stored", value=values, element_type=element_type),
            Convert("wide", ("stored",), destination_type="f16"), constant("scale", scale),
            Eltwise("scaled", ("wide", "scale"), mode="Multiply"), numbers("shape", ROWS, WIDTH),
            Reshape("rows", ("scaled", "shape")), Convert("weights", ("rows",), destination_type="f32")], \
        (values * scale.astype(np.float64)).reshape(ROWS, WIDTH)


@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("kind", ["u8", "i8", "u4", "i4", "f8e4m3", "f8e5m2", "f16"])
def test_lookups_and_products(engine: Engine, rng: np.random.Generator, kind: str, groups: int) -> None:
    chain, weights = _decompressed(rng, kind, groups)
    topology = Topology(given("indices", ANY, kind="i64"), given("x", ANY, WIDTH), numbers("axis", 0), *chain,
                        Gather("y", ("weights", "indices", "axis")), MatMul("z", ("x", "weights"), transpose_b=True))
    network = Network(compile_topology(engine, topology, OpenVinoShapeInference()), engine.create_stream(),
                      OpenVinoShapeInference())
    for count in (1, 5):
        indices, x = rng.integers(0, ROWS, count), rng.normal(size=(count, WIDTH)).astype(np.float32)
        rows, product = execute(network, [indices, x])
        assert_close(rows, weights[indices], 1e-6, kind)
        assert_close(product, x @ weights.T, 2e-6, kind)


def test_what_f16_rounds_before_stays_rounded(engine: Engine, rng: np.random.Generator) -> None:
    """A scale that is converted to f16."""
    scale = rng.uniform(0.5, 1.5, (ROWS, 1)).astype(np.float32)
    values = rng.integers(-8, 8, (ROWS, WIDTH)).astype(np.int8)
    topology = Topology(given("indices", ANY, kind="i64"), numbers("axis", 0), constant("stored", values),
                        Convert("wide", ("stored",), destination_type="f16"), constant("scale", scale),
                        Convert("rounded", ("scale",), destination_type="f16"),
                        Eltwise("scaled", ("wide", "rounded"), mode="Multiply"),
                        Convert("weights", ("scaled",), destination_type="f32"),
                        Gather("y", ("weights", "indices", "axis")))
    network = Network(compile_topology(engine, topology, OpenVinoShapeInference()), engine.create_stream(),
                      OpenVinoShapeInference())
    indices = rng.integers(0, ROWS, 7)
    expected = (values * scale.astype(np.float16).astype(np.float64))[indices]
    assert_close(execute(network, [indices])[0], expected, 1e-6, "rounded")
