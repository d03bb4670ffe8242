"""Products that learn that their data are whole numbers times a step: which do, and what they then compute."""
from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from clinfer.base.quantisation import Quantisation
from clinfer.base.shape import ANY
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.concat import Concat
from clinfer.ops.convert import Convert
from clinfer.ops.convolution import Convolution, GroupConvolution
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.fake_quantize import FakeQuantize
from clinfer.ops.matmul import MatMul
from clinfer.ops.pooling import MaxPool
from clinfer.ops.quantised_convolution import QuantisedConvolution
from clinfer.ops.transpose import Transpose
from clinfer.program.options import BuildOptions
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.keep_weights_compressed import keep_weights_compressed
from clinfer.program.passes.note_data_grids import Grid, note_data_grids
from clinfer.program.passes.whole_numbers import whole_numbers_of
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


def _convolution(rng: np.random.Generator, weights: np.ndarray, group: int = 0, **attributes: object) -> Topology:
    """x [?, C, ?, ?] between two bounds, its largest of each window, a convolution with borders and a bias."""
    channels = weights.shape[1] * max(group, 1)
    bounds = [constant(name, np.float32(value)) for name, value in (("low", -1.1), ("high", 1.45))]
    kind = GroupConvolution if group else Convolution
    filters = weights.reshape(group, -1, *weights.shape[1:]) if group else weights
    return Topology(given("x", ANY, channels, ANY, ANY), *bounds,
                    FakeQuantize("rounded", ("x", "low", "high", "low", "high"), levels=256),
                    MaxPool("pooled", ("rounded",), strides=(2, 2), pads_begin=(1, 1), pads_end=(1, 1), kernel=(3, 3)),
                    constant("w", filters.astype(np.float32)),
                    kind("y", ("pooled", "w"), strides=(1, 1), dilations=(1, 1), pads_begin=(1, 1), pads_end=(1, 1)),
                    constant("bias", rng.standard_normal((1, len(weights), 1, 1)).astype(np.float32)),
                    Eltwise("sum", ("y", "bias"), mode="Add"))


def _whole(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    scale = rng.uniform(0.01, 0.02, (shape[0], *(1,) * (len(shape) - 1)))
    return np.asarray(rng.integers(-127, 128, shape) * scale, np.float32)


def test_convolutions_give_what_those_of_floats_do(engine: Engine, rng: np.random.Generator) -> None:
    """Where the device has no instructions for bytes they stay what they are."""
    topology = _convolution(rng, _whole(rng, (40, 20, 3, 3)))
    results, x = [], rng.standard_normal((2, 20, 11, 14)).astype(np.float32)
    for skipped in ((), ("note_data_grids",)):
        options = BuildOptions(skipped_passes=frozenset(skipped))
        program = compile_topology(engine, topology, OpenVinoShapeInference(), options)
        has_bytes = any(isinstance(node.primitive, QuantisedConvolution) for node in program.nodes)
        assert has_bytes == (engine.capabilities.multiplies_bytes and not skipped)
        results += execute(Network(program, engine.create_stream(), OpenVinoShapeInference()), [x])
    assert_close(results[0], results[1], 1e-5, "convolution")


def _of_joined(rng: np.random.Generator, highs: tuple[float, ...]) -> Topology:
    """A convolution of tensors [?, 16, ?, ?] behind one another, each between bounds of its own."""
    parts: list[Primitive] = [constant("low", np.float32(0))]
    for index, high in enumerate(highs):
        parts += [given(f"x{index}", ANY, 16, ANY, ANY), constant(f"high{index}", np.float32(high)),
                  FakeQuantize(f"rounded{index}", (f"x{index}", "low", f"high{index}", "low", f"high{index}"),
                               levels=256)]
    weights = _whole(rng, (40, 16 * len(highs), 3, 3))
    return Topology(*parts, Concat("joined", tuple(f"rounded{index}" for index in range(len(highs))), axis=1),
                    constant("w", weights),
                    Convolution("y", ("joined", "w"), strides=(1, 1), dilations=(1, 1), pads_begin=(1, 1),
                                pads_end=(1, 1)))


def test_what_is_joined_is_on_the_grid_that_all_are_on(engine: Engine, rng: np.random.Generator) -> None:
    for highs, is_on_grid in (((2.0, 2.0, 2.0), True), ((2.0, 2.5), False)):
        topology = _of_joined(rng, highs)
        results, data = [], [rng.uniform(-1, 3, (2, 16, 9, 14)).astype(np.float32) for _ in highs]
        for skipped in ((), ("note_data_grids",)):
            options = BuildOptions(skipped_passes=frozenset(skipped))
            program = compile_topology(engine, topology, OpenVinoShapeInference(), options)
            has_bytes = any(isinstance(node.primitive, QuantisedConvolution) for node in program.nodes)
            assert has_bytes == (engine.capabilities.multiplies_bytes and is_on_grid and not skipped)
            results += execute(Network(program, engine.create_stream(), OpenVinoShapeInference()), data)
        assert_close(results[0], results[1], 1e-5, "convolution")


def test_other_convolutions_stay(engine: Engine, rng: np.random.Generator) -> None:
    """Those of floats, of groups, of few channels."""
    for topology in (_convolution(rng, rng.standard_normal((8, 20, 3, 3))),
                     _convolution(rng, _whole(rng, (40, 20, 3, 3)), group=2),
                     _convolution(rng, _whole(rng, (8, 3, 3, 3)))):
        graph = graph_after(engine, topology, (infer_layouts, note_data_grids))
        assert type(graph["y"].primitive) in (Convolution, GroupConvolution)


@pytest.mark.parametrize("has_registers", [False, True])
def test_few_outputs_fill_tile_registers(engine: Engine, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch,
                                         has_registers: bool) -> None:
    """Of data of three channels."""
    device = replace(engine.capabilities, tile_registers=has_registers)
    monkeypatch.setattr(engine, "capabilities", device)
    for outputs, is_noted in ((15, False), (16, has_registers), (32, True)):
        topology = _convolution(rng, _whole(rng, (outputs, 3, 3, 3)))
        graph = graph_after(engine, topology, (infer_layouts, note_data_grids))
        assert isinstance(graph["y"].primitive, QuantisedConvolution) == (is_noted and device.multiplies_bytes)


def test_products_find_whole_numbers_behind_floats(engine: Engine, rng: np.random.Generator) -> None:
    """Where the device has instructions for bytes; elsewhere they stay what they are."""
    for transpose in (False, True):
        weights = _whole(rng, (COLUMNS, DEPTH))
        parts = (given("x", ANY, DEPTH), constant("low", np.float32(0)), constant("high", np.float32(2)),
                 FakeQuantize("rounded", ("x", "low", "high", "low", "high"), levels=256),
                 constant("w", weights if transpose else weights.T.copy()),
                 MatMul("y", ("rounded", "w"), transpose_b=transpose))
        graph = graph_after(engine, Topology(*parts), (infer_layouts, note_data_grids))
        product = graph["y"].primitive
        assert isinstance(product, MatMul)
        assert (product.data_grid, product.quantisation) == (
            (3, Quantisation(2)) if engine.capabilities.multiplies_bytes else (None, None))
        program = compile_topology(engine, Topology(*parts), OpenVinoShapeInference())
        x = rng.uniform(0, 2, (9, DEPTH)).astype(np.float32)
        found, = execute(Network(program, engine.create_stream(), OpenVinoShapeInference()), [x])
        assert_close(found, (np.rint(x / 2 * 255) * np.float32(2 / 255)) @ weights.T, 1e-5, "product")


def test_products_of_more_than_bytes_can_add_up_keep_their_weights(engine: Engine, rng: np.random.Generator,
                                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    if not engine.capabilities.multiplies_bytes:
        pytest.skip("the device has no instructions for bytes")
    for deepest in (DEPTH, DEPTH - 1):
        monkeypatch.setattr(import_module(note_data_grids.__module__), "MOST_DEPTH", deepest)
        parts = (given("x", ANY, DEPTH), constant("low", np.float32(0)), constant("high", np.float32(2)),
                 FakeQuantize("rounded", ("x", "low", "high", "low", "high"), levels=256),
                 constant("w", _whole(rng, (COLUMNS, DEPTH))), MatMul("y", ("rounded", "w"), transpose_b=True))
        product = graph_after(engine, Topology(*parts), (infer_layouts, note_data_grids))["y"].primitive
        assert isinstance(product, MatMul) and (product.quantisation is None) == (deepest < DEPTH)


def test_whole_numbers(rng: np.random.Generator) -> None:
    numbers = rng.integers(-90, 91, (6, 500))
    numbers[0], numbers[1] = 0, -numbers[1]
    numbers[2, :3], numbers[3, 400] = -128, 50
    scale = rng.uniform(1e-3, 1e3, (6, 1))
    found = whole_numbers_of((numbers * scale).astype(np.float32))
    assert found is not None and found.numbers.dtype == np.int8
    assert np.allclose(found.numbers * found.scale[:, None], numbers * scale, rtol=1e-5, atol=0)
    changed = (numbers * scale).astype(np.float32)
    changed[3, 400] *= 1.013
    assert whole_numbers_of(changed) is None
    for value in (np.nan, np.inf):
        changed[3, 400] = value
        assert whole_numbers_of(changed) is None


def test_grids() -> None:
    assert Grid.of(0, 2.55, 256) == Grid(2.55 / 255, 0) and Grid.of(-3, 0, 4) == Grid(1.0, 3)
    assert Grid.of(1, 2, 256) is None and Grid.of(-2, -1, 256) is None and Grid.of(0, 1, 1) is None
    assert Grid.of(0, 1e29, 2) == Grid(1e29, 0) and Grid.of(0, 1e39, 2) is None and Grid.of(2, 1, 256) is None
