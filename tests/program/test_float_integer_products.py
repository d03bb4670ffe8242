"""Products of integers whose sums become floats: which compute in floats or bytes, and what comes out."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from clinfer.base.shape import ANY
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.convert import Convert
from clinfer.ops.convolution import Convolution, GroupConvolution
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.matmul import MatMul
from clinfer.ops.quantised_convolution import QuantisedConvolution
from clinfer.program.graph import Graph
from clinfer.program.passes.float_integer_products import float_integer_products
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.note_data_grids import note_data_grids
from clinfer.runtime.engine import Engine
from clinfer.topology import Input, Primitive, Topology
from tests.ops.case_runner import execute
from tests.program.building import constant, given, graph_after

RUN = (infer_layouts, float_integer_products, note_data_grids)
DEPTH = 37
_ONES = {"strides": (1, 1), "dilations": (1, 1), "pads_begin": (1, 1), "pads_end": (1, 1)}


def _data(*shape: object, zero: bool = True) -> list[Primitive]:
    """`wide`, i32: bytes, less a zero point that is given when the model runs."""
    parts: list[Primitive] = [given("x", *shape, kind="u8"), Convert("x/i32", ("x",), destination_type="i32")]
    if zero:
        parts += [given("zero", kind="u8"), Convert("zero/i32", ("zero",), destination_type="i32"),
                  Eltwise("wide", ("x/i32", "zero/i32"), mode="Subtract")]
    return parts


def _ended(parts: Sequence[Primitive], weights: np.ndarray, product: Primitive, kind: str = "f32") -> Topology:
    return Topology(*parts, constant("w", weights.astype(np.int32)), product,
                    Convert("result", (product.id,), destination_type=kind))


def _results(engine: Engine, topology: Topology, inputs: Sequence[np.ndarray]) -> np.ndarray:
    program = compile_topology(engine, topology, OpenVinoShapeInference())
    found, = execute(Network(program, engine.create_stream(), OpenVinoShapeInference()), list(inputs))
    return found


def _of(graph: Graph, kind: type) -> list[Primitive]:
    return [node.primitive for node in graph if isinstance(node.primitive, kind)]


@pytest.mark.parametrize("zero", [True, False])
def test_products(engine: Engine, rng: np.random.Generator, zero: bool) -> None:
    weights = rng.integers(-128, 128, (DEPTH, 50))
    topology = _ended(_data(ANY, DEPTH, zero=zero), weights, MatMul("y", ("wide" if zero else "x/i32", "w")))
    product, = _of(graph_after(engine, topology, RUN), MatMul)
    is_noted = zero and engine.capabilities.multiplies_bytes
    assert isinstance(product, MatMul) and (product.data_grid is not None) == is_noted
    for rows, point in ((30, 131), (1, 0), (5, 255)):
        x = rng.integers(0, 256, (rows, DEPTH)).astype(np.uint8)
        found = _results(engine, topology, [x, *([np.array(point, np.uint8)] if zero else [])])
        assert np.array_equal(found, (x.astype(np.int64) - (point if zero else 0)) @ weights)


@pytest.mark.parametrize("group", [1, 2])
def test_convolutions(engine: Engine, rng: np.random.Generator, group: int) -> None:
    """Products with the border are 0, wherever the zero point is."""
    weights = rng.integers(-128, 128, (18, 16, 3, 3))
    filters = weights if group == 1 else weights.reshape(group, -1, 16, 3, 3)
    product = (Convolution if group == 1 else GroupConvolution)("y", ("wide", "w"), **_ONES)
    topology = _ended(_data(ANY, 16 * group, ANY, ANY), filters, product)
    is_noted = group == 1 and engine.capabilities.multiplies_bytes
    assert bool(_of(graph_after(engine, topology, RUN), QuantisedConvolution)) == is_noted
    x = rng.integers(0, 256, (2, 16 * group, 5, 8)).astype(np.uint8)
    padded = np.pad(x.astype(np.int64) - 77, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3)).reshape(2, group, 16, 5, 8, 3, 3)
    wanted = np.einsum("bgcyxhw,gochw->bgoyx", windows, weights.reshape(group, -1, 16, 3, 3)).reshape(2, 18, 5, 8)
    assert np.array_equal(_results(engine, topology, [x, np.array(77, np.uint8)]), wanted)


@pytest.mark.parametrize("point", [-5, 300, 3 << 24])
def test_a_zero_point_that_is_no_byte(engine: Engine, rng: np.random.Generator, point: int) -> None:
    """Nothing stands for zero at the border then."""
    weights = rng.integers(-128, 128, (18, 16, 3, 3))
    for zero in (given("zero", kind="i32"), constant("zero", np.array(point, np.int32))):
        parts = [given("x", ANY, 16, ANY, ANY, kind="u8"), Convert("x/i32", ("x",), destination_type="i32"), zero,
                 Eltwise("wide", ("x/i32", "zero"), mode="Subtract")]
        topology = _ended(parts, weights, Convolution("y", ("wide", "w"), **_ONES))
        assert not _of(graph_after(engine, topology, RUN), QuantisedConvolution)
        x = rng.integers(0, 256, (1, 16, 4, 5)).astype(np.uint8)
        padded = np.pad(x.astype(np.int64) - point, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
        wanted = np.einsum("bcyxhw,ochw->boyx", windows, weights).astype(np.int32).astype(np.float32)
        points = [np.array(point, np.int32)] if isinstance(zero, Input) else []
        assert np.array_equal(_results(engine, topology, [x, *points]), wanted)


@pytest.mark.parametrize("is_rounded", [False, True])
def test_bytes_that_were_floats_are_read_as_those(engine: Engine, rng: np.random.Generator, is_rounded: bool) -> None:
    """As DynamicQuantizeLinear makes them, adding a zero point that is converted from u8 or rounded; nothing is left of
    its last two Converts."""
    weights = rng.integers(-128, 128, (DEPTH, 20))
    zero = [given("point", kind="f32"), Eltwise("zero/f32", ("point",), mode="Round", parameters=(0.0,)),
            Convert("zero", ("zero/f32",), destination_type="u8")] if is_rounded else [
                given("zero", kind="u8"), Convert("zero/f32", ("zero",), destination_type="f32")]
    parts = [given("x", ANY, DEPTH), *zero,
             Eltwise("rounded", ("x",), mode="Round", parameters=(0.0,)),
             Eltwise("moved", ("rounded", "zero/f32"), mode="Add"),
             Eltwise("bounded", ("moved",), mode="Clamp", parameters=(0.0, 255.0)),
             Convert("bytes", ("bounded",), destination_type="u8"),
             Convert("bytes/i32", ("bytes",), destination_type="i32"),
             Convert("zero/i32", ("zero",), destination_type="i32"),
             Eltwise("wide", ("bytes/i32", "zero/i32"), mode="Subtract")]
    topology = _ended(parts, weights, MatMul("y", ("wide", "w")))
    graph = graph_after(engine, topology, RUN)
    assert "bytes" not in graph and "bytes/i32" not in graph
    product, = _of(graph, MatMul)
    assert isinstance(product, MatMul)
    assert (product.data_grid is not None) == engine.capabilities.multiplies_bytes
    x = rng.uniform(-140, 140, (9, DEPTH)).astype(np.float32)
    found = _results(engine, topology, [x, np.array(120, np.float32 if is_rounded else np.uint8)])
    assert np.array_equal(found, (np.clip(np.rint(x) + 120, 0, 255).astype(np.int64) - 120) @ weights)


def test_other_products_stay(engine: Engine, rng: np.random.Generator) -> None:
    """Sums that are read as integers, weights beyond bytes, data that are none."""
    weights = rng.integers(-128, 128, (DEPTH, 4))
    large = weights.copy()
    large[0, 0] = 256
    product = MatMul("y", ("wide", "w"))
    for topology in (_ended(_data(ANY, DEPTH), weights, product, kind="i64"), _ended(_data(ANY, DEPTH), large, product),
                     _ended([given("wide", ANY, DEPTH, kind="i32")], weights, product)):
        graph = graph_after(engine, topology, RUN)
        assert graph["y"].primitive == topology["y"] and graph.layout(graph["y"].inputs[0]).element_type.name == "i32"
