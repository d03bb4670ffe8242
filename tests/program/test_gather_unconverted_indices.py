"""Lookups that read their indices in the type in which the model has them."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.shape import ANY
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.convert import Convert
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.gather import Gather
from clinfer.program.passes.gather_unconverted_indices import gather_unconverted_indices
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.runtime.engine import Engine
from clinfer.topology import Primitive, Topology
from tests.ops.case_runner import execute
from tests.program.building import constant, given, graph_after, numbers

ROWS = np.arange(60, dtype=np.float32).reshape(12, 5)


def _topology(source: str, target: str, *more: Primitive) -> Topology:
    """Two lookups in a table by the same converted indices."""
    lookups = [Gather(name, ("table", "converted", "axis")) for name in ("y", "z")]
    return Topology(given("x", ANY, ANY, kind=source), constant("table", ROWS), numbers("axis", 0),
                    Convert("converted", ("x",), destination_type=target), *lookups, *more)


def _conversions(engine: Engine, topology: Topology) -> int:
    graph = graph_after(engine, topology, (infer_layouts, gather_unconverted_indices))
    return sum(isinstance(node.primitive, Convert) for node in graph)


@pytest.mark.parametrize("source, target, stays", [
    ("i64", "i32", False), ("i32", "i64", False), ("u8", "i32", False), ("f32", "i32", True), ("i32", "u8", True)])
def test_conversions_of_indices(engine: Engine, source: str, target: str, stays: bool) -> None:
    assert _conversions(engine, _topology(source, target)) == stays


def test_others_read_the_converted_numbers(engine: Engine) -> None:
    wide = Eltwise("sum", ("converted", "converted"), mode="Add")
    assert _conversions(engine, _topology("i64", "i32", wide)) == 1


@pytest.mark.parametrize("source", ["i64", "i32", "u8"])
def test_rows_are_those_of_the_indices(engine: Engine, source: str, rng: np.random.Generator) -> None:
    """From the end, too, where the type has a sign."""
    program = compile_topology(engine, _topology(source, "i32" if source == "i64" else "i64"),
                               OpenVinoShapeInference())
    network = Network(program, engine.create_stream(), OpenVinoShapeInference())
    dtype = given("x", kind=source).element_type.numpy
    for shape in ((2, 3), (1, 1), (4, 7)):
        indices = rng.integers(0 if source == "u8" else -12, 12, shape).astype(dtype)
        assert all(np.array_equal(found, ROWS[indices]) for found in execute(network, [indices]))
