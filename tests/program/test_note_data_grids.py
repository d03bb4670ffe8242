"""Products that learn that their data are whole numbers times a step: which do, and what they then compute."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.shape import ANY
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.convert import Convert
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.fake_quantize import FakeQuantize
from clinfer.ops.matmul import MatMul
from clinfer.ops.transpose import Transpose
from clinfer.program.options import BuildOptions
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.keep_weights_compressed import keep_weights_compressed
from clinfer.program.passes.note_data_grids import Grid, note_data_grids
from clinfer.runtime.engine import Engine
from clinfer.topology import Primitive, Topology
from tests.ops.case_runner import execute
from tests.oracle import assert_close
from tests.program.building import constant, given, graph_after, numbers

DEPTH, COLUMNS = 40, 24


def _topology(rng: np.random.Generator, low: object = -1.28, high: object = 1.27, levels: int = 256,
              kind: type = np.int8, scales: int = COLUMNS, turned: bool = False, output: object = None) -> Topology:
    """x [?, DEPTH] between two bounds, perhaps transposed, times stored weights with scales."""
    bounds = [constant(name, np.asarray(value, np.float32)) for name, value in (
        ("low", low), ("high", high), ("to_low", low if output is None else output), ("to_high", high))]
    shape = (DEPTH, ANY) if turned else (ANY, DEPTH)
    parts: list[Primitive] = [given("x", *shape), *bounds,
                              FakeQuantize("rounded", ("x", *(b.id for b in bounds)), levels=levels)]
    if turned:
        parts += [numbers("order", 1, 0), Transpose("moved", ("rounded", "order"))]
    weights = rng.integers(-100 if kind is np.int8 else 0, 100, (DEPTH, COLUMNS)).astype(kind)
    parts += [constant("w", weights), Convert("wide", ("w",), destination_type="f32"),
              constant("scale", rng.uniform(0.5, 1.5, (1, scales)).astype(np.float32)),
              Eltwise("scaled", ("wide", "scale"), mode="Multiply"),
              constant("bias", rng.standard_normal(COLUMNS).astype(np.float32)),
              MatMul("y", (parts[-1].id, "scaled")), Eltwise("sum", ("y", "bias"), mode="Add")]
    return Topology(*parts)


def _product(engine: Engine, topology: Topology) -> MatMul:
    graph = graph_after(engine, topology, (infer_layouts, keep_weights_compressed, note_data_grids))
    primitive = graph["y"].primitive
    assert isinstance(primitive, MatMul)
    return primitive


@pytest.mark.parametrize("given_as", [{}, {"low": 0.0}, {"levels": 255, "low": -1.27}, {"turned": True},
                                      {"scales": 1}, {"high": 0.0}], ids=str)
def test_the_result_is_that_of_floats(engine: Engine, rng: np.random.Generator, given_as: dict[str, object]) -> None:
    topology = _topology(rng, **given_as)  # type: ignore[arg-type]
    assert _product(engine, topology).data_grid == 3
    results = []
    x = rng.standard_normal((DEPTH, 33) if given_as.get("turned") else (33, DEPTH)).astype(np.float32)
    for skipped in ((), ("note_data_grids",)):
        options = BuildOptions(skipped_passes=frozenset(skipped))
        program = compile_topology(engine, topology, OpenVinoShapeInference(), options)
        network = Network(program, engine.create_stream(), OpenVinoShapeInference())
        results += execute(network, [x])
    assert_close(results[0], results[1], 1e-5, str(given_as))


@pytest.mark.parametrize("given_as", [
    {"low": np.linspace(-2, -1, DEPTH)}, {"low": -1.2855}, {"low": 0.5}, {"low": 1.27}, {"low": np.nan},
    {"high": np.inf}, {"levels": 257}, {"kind": np.uint8}, {"low": 1e-39, "high": 2e-39}, {"output": 1.27}], ids=str)
def test_what_is_no_such_grid_stays(engine: Engine, rng: np.random.Generator, given_as: dict[str, object]) -> None:
    """One for each element, without 0 among the levels, without a step, of too many levels, of other weights."""
    assert _product(engine, _topology(rng, **given_as)).data_grid is None  # type: ignore[arg-type]


def test_grids() -> None:
    assert Grid.of(0, 2.55, 256) == Grid(2.55 / 255, 0) and Grid.of(-3, 0, 4) == Grid(1.0, 3)
    assert Grid.of(1, 2, 256) is None and Grid.of(-2, -1, 256) is None and Grid.of(0, 1, 1) is None
    assert Grid.of(0, 1e29, 2) == Grid(1e29, 0) and Grid.of(0, 1e39, 2) is None and Grid.of(2, 1, 256) is None
