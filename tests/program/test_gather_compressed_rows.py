"""Lookups in compressed and in narrow tables: which look rows up before they are widened, with the same result."""
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
from clinfer.ops.reshape import Reshape
from clinfer.program.options import BuildOptions
from clinfer.program.passes.gather_compressed_rows import gather_compressed_rows
from clinfer.program.passes.gather_narrow_rows import gather_narrow_rows
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.remove_needless_nodes import remove_needless_nodes
from clinfer.runtime.engine import Engine
from clinfer.topology import Constant, Primitive, Topology
from tests.ops.case_runner import execute
from tests.oracle import assert_close
from tests.program.building import constant, given, graph_after, numbers

ROWS, WIDTH = 90, 70
RUN = (infer_layouts, gather_compressed_rows, remove_needless_nodes)


def _lookup(rng: np.random.Generator, kind: type, per_row: tuple[int, ...], has_zero_points: bool,
            axis: int = 0, index_rank: int = 2) -> Topology:
    """Rows of a table by `indices`."""
    table = rng.integers(0, 100, (ROWS, WIDTH)).astype(kind)
    parts: list[Primitive] = [given("indices", *[ANY] * index_rank, kind="i64"), numbers("axis", axis),
                              constant("table", table), Convert("wide", ("table",), destination_type="f16"),
                              constant("scale", rng.uniform(0.5, 1.5, per_row).astype(np.float16))]
    if has_zero_points:
        parts += [constant("zero", rng.integers(0, 100, per_row).astype(kind)),
                  Convert("zero/wide", ("zero",), destination_type="f16"),
                  Eltwise("free", ("wide", "zero/wide"), mode="Subtract")]
    return Topology(*parts, Eltwise("scaled", ("free" if has_zero_points else "wide", "scale"), mode="Multiply"),
                    Convert("table/f32", ("scaled",), destination_type="f32"),
                    Gather("y", ("table/f32", "indices", "axis")))


@pytest.mark.parametrize("per_row, has_zero_points", [
    ((ROWS, 1), True), ((ROWS, 1), False), ((1, 1), False), ((), False)], ids=["zeros", "rows", "one", "scalar"])
@pytest.mark.parametrize("kind", [np.uint8, np.int8])
def test_rows_are_looked_up_first(engine: Engine, rng: np.random.Generator, kind: type, per_row: tuple[int, ...],
                                  has_zero_points: bool) -> None:
    topology = _lookup(rng, kind, per_row, has_zero_points)
    graph = graph_after(engine, topology, RUN)
    first = next(node for node in graph if isinstance(node.primitive, Gather))
    assert first.inputs[0].primitive == "table" and "scaled" not in graph
    indices = rng.integers(-ROWS, ROWS, (3, 4))
    indices[0, 0] = ROWS
    results = []
    for skipped in (frozenset[str](), frozenset({"gather_compressed_rows"})):
        program = compile_topology(engine, topology, OpenVinoShapeInference(), BuildOptions(skipped_passes=skipped))
        network = Network(program, engine.create_stream(), OpenVinoShapeInference())
        results += execute(network, [indices])
        largest = max(data.layout.byte_size for data in program.constants.values())
        assert largest == ROWS * WIDTH * (4 if skipped else 1)
    assert_close(results[0], results[1], 2e-3, str(kind))


@pytest.mark.parametrize("per_row", [(ROWS, 1), (1, 1), ()], ids=str)
def test_a_single_row_has_one_axis(engine: Engine, rng: np.random.Generator, per_row: tuple[int, ...]) -> None:
    topology = _lookup(rng, np.uint8, per_row, False, index_rank=0)
    network = Network(compile_topology(engine, topology, OpenVinoShapeInference()), engine.create_stream(),
                      OpenVinoShapeInference())
    found, = execute(network, [np.array(7)])
    table, scale = (next(p.value for p in topology if p.id == name) for name in ("table", "scale"))
    assert found.shape == (WIDTH,)
    assert_close(found, np.broadcast_to(table * scale.astype(np.float64), table.shape)[7], 1e-6, str(per_row))


REASONS = {"axis": "whole rows", "scale-within-a-row": "differ within", "4-bits": "4 bits",
           "one-zero-point": "share a zero point"}


@pytest.mark.parametrize("reason", REASONS)
def test_other_lookups_stay_and_say_why(engine: Engine, rng: np.random.Generator, reason: str) -> None:
    topology = _lookup(rng, np.uint8, (1, WIDTH) if reason == "scale-within-a-row" else (ROWS, 1), False,
                       axis=1 if reason == "axis" else 0)
    if reason == "one-zero-point":
        topology = _lookup(rng, np.uint8, (1, 1), True)
    if reason == "4-bits":
        table = Constant("table", value=rng.integers(0, 16, (ROWS, WIDTH)).astype(np.uint8),
                         element_type=ElementType.of("u4"))
        topology = Topology(*(table if p.id == "table" else p for p in topology))
    graph = graph_after(engine, topology, RUN)
    assert "y" in graph and REASONS[reason] in graph.history.unfused["y"][0][1]


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("kind", ["u8", "i8", "u4", "i4"])
def test_rows_that_are_cut_into_groups(engine: Engine, rng: np.random.Generator, kind: str, groups: int) -> None:
    table = rng.integers(0, 8, (ROWS, groups, WIDTH // groups)).astype(ElementType.of(kind).numpy)
    scale = rng.uniform(0.5, 1.5, (ROWS, groups, 1)).astype(np.float16)
    topology = Topology(given("indices", ANY, ANY, kind="i64"), numbers("axis", 0), numbers("shape", ROWS, WIDTH),
                        Constant("table", value=table, element_type=ElementType.of(kind)),
                        Convert("wide", ("table",), destination_type="f16"), constant("scale", scale),
                        Eltwise("scaled", ("wide", "scale"), mode="Multiply"), Reshape("rows", ("scaled", "shape")),
                        Convert("table/f32", ("rows",), destination_type="f32"),
                        Gather("y", ("table/f32", "indices", "axis")))
    network = Network(compile_topology(engine, topology, OpenVinoShapeInference()), engine.create_stream(),
                      OpenVinoShapeInference())
    indices = rng.integers(0, ROWS, (3, 4))
    expected = (table * scale.astype(np.float64)).reshape(ROWS, WIDTH)[indices]
    assert_close(execute(network, [indices])[0], expected, 1e-6, kind)


def _narrow_lookup(rng: np.random.Generator, kind: str, *more: Primitive) -> Topology:
    """Rows of a table of a narrow type, seen as f32."""
    values = ElementType.of(kind).decode(ElementType.of(kind).encode(rng.integers(-100, 100, 256 * 128)), 256 * 128)
    return Topology(given("indices", ANY, ANY, kind="i64"), numbers("axis", 0),
                    Constant("table", value=values.reshape(256, 128), element_type=ElementType.of(kind)),
                    Convert("wide", ("table",), destination_type="f32"), Gather("y", ("wide", "indices", "axis")),
                    *more)


@pytest.mark.parametrize("kind", ["f16", "bf16", "f8e4m3", "i8"])
def test_narrow_tables_stay_narrow(engine: Engine, rng: np.random.Generator, kind: str) -> None:
    topology, results = _narrow_lookup(rng, kind), []
    indices = rng.integers(-256, 257, (3, 4))
    for skipped in (frozenset[str](), frozenset({"gather_narrow_rows"})):
        program = compile_topology(engine, topology, OpenVinoShapeInference(), BuildOptions(skipped_passes=skipped))
        largest = max((data.layout for data in program.constants.values()), key=lambda layout: layout.byte_size)
        assert largest.element_type.name == ("f32" if skipped else kind)
        network = Network(program, engine.create_stream(), OpenVinoShapeInference())
        results += execute(network, [indices])
    np.testing.assert_array_equal(*results)


def test_tables_that_others_read_wide_are_widened_once(engine: Engine, rng: np.random.Generator) -> None:
    topology = _narrow_lookup(rng, "f16", Eltwise("twice", ("wide", "wide"), mode="Add"))
    graph = graph_after(engine, topology, (infer_layouts, gather_narrow_rows))
    assert graph["y"].inputs[0].primitive == "wide"
