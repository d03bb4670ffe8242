"""Convolutions by transformed filters: every size of tiles and every way to multiply, against sums in f64."""
from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clinfer.base.shape import ANY
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.convolution import Convolution, GroupConvolution
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.winograd_convolution import WinogradConvolution, tiles_of, transformed
from clinfer.ops.winograd_convolution.op import POINTS, data_matrix, filter_matrix, result_matrix
from clinfer.program import kept_choices
from clinfer.program.options import BuildOptions
from clinfer.program.passes import fuse_bias, infer_layouts, transform_filters
from clinfer.runtime.capabilities import Capabilities
from clinfer.runtime.engine import Engine
from clinfer.topology import Primitive, Topology
from tests.ops.case_runner import execute
from tests.program.building import constant, given, graph_after

Tile = tuple[tuple[int, ...], tuple[int, ...]]
ERROR = 4e-6
"""Of the largest output; sums one by one in f32 have a third of it."""
WINDOWS = ((3, 3), (5, 5), (2, 2), (3, 1), (1, 5), (3,), (4,), (7,))
TILES = [(window, outputs) for window in WINDOWS for outputs in tiles_of(window)]
SHAPES = {
    "few": (7, 5, (1, 1, 1, 1), ((1, 9, 11), (2, 1, 1), (1, 16, 3))),
    "tails": (35, 50, (0, 1, 2, 1), ((1, 14, 14), (3, 9, 30), (1, 1, 1), (0, 5, 5), (2, 2, 40))),
    "whole": (64, 32, (1, 1, 1, 1), ((1, 56, 56), (1, 7, 7), (5, 4, 4))),
    "half": (24, 40, (0, 0, 0, 0), ((1, 3, 3), (1, 30, 31), (2, 5, 4))),
    "panels": (48, 300, (2, 2, 0, 0), ((1, 6, 6), (1, 20, 9))),
}
"""Channels of data and output, pads before and after along y and x, and pictures in turn."""


@pytest.fixture
def engine(engine: Engine) -> Engine:
    """Each CPU's in turn."""
    if engine.capabilities.device_type != "CPU":
        pytest.skip("made for CPUs")
    return engine


def _narrow(device: Capabilities, by_assembly: bool) -> Capabilities:
    """A device whose vectors hold 8 floats."""
    if by_assembly and not device.float_products:
        pytest.skip("the device has no products of floats by assembly")
    return replace(device, vector_floats=8, bf16_products=False, tile_registers=False, float_products=by_assembly)


WAYS = {"as it is": lambda device: device, "narrow": lambda device: _narrow(device, False),
        "narrow assembly": lambda device: _narrow(device, True)}


def _wanted(data: np.ndarray, weights: np.ndarray, bias: np.ndarray, pads: tuple[tuple[int, int], ...]) -> np.ndarray:
    window, axes = weights.shape[2:], tuple(range(2, data.ndim))
    padded = np.pad(data.astype(np.float64), ((0, 0), (0, 0), *pads))
    seen = np.lib.stride_tricks.sliding_window_view(padded, window, axes)
    sums = np.tensordot(seen, weights.astype(np.float64), ((1, *(axis + len(axes) for axis in axes)),
                                                          (1, *axes)))
    return np.moveaxis(sums, -1, 1) + bias.reshape(-1, *(1 for _ in axes))


def _check(engine: Engine, rng: np.random.Generator, name: str, tile: Tile, kernel: str, large: bool = False) -> None:
    """With a bias, and a fused factor of each channel and Relu."""
    (inputs, channels, pads, pictures), (window, outputs), axes = SHAPES[name], tile, len(tile[0])
    sides = [(pads[axis], pads[axis + 2]) for axis in range(2)][-axes:]
    weights = (rng.standard_normal((channels, inputs, *window)) / np.sqrt(prod(window) * inputs)).astype(np.float32)
    bias = rng.standard_normal(channels).astype(np.float32)
    factors = rng.uniform(0.5, 1.5, (channels, *(1 for _ in window))).astype(np.float32)
    ones = (1,) * axes
    convolution = WinogradConvolution("y", ("x", "w", "bias"), strides=ones, dilations=ones,
                                      pads_begin=tuple(before for before, _ in sides),
                                      pads_end=tuple(behind for _, behind in sides), window=window, outputs=outputs)
    topology = Topology(given("x", ANY, inputs, *(ANY for _ in window)), constant("w", transformed(weights, outputs)),
                        constant("bias", bias), convolution, constant("factors", factors),
                        Eltwise("scaled", ("y", "factors"), mode="Multiply"), Eltwise("high", ("scaled",), mode="Relu"))
    options = BuildOptions({"y": ("", kernel)}, large_indices=large)
    program = compile_topology(engine, topology, OpenVinoShapeInference(), options)
    network = Network(program, engine.create_stream(), OpenVinoShapeInference())
    for batch, *both in pictures:
        sizes = both[-axes:]
        data = rng.standard_normal((batch, inputs, *(max(size + long - 1 - sum(pair), 1) for size, long, pair in zip(
            sizes, window, sides, strict=True)))).astype(np.float32)
        wanted = np.maximum(_wanted(data, weights, bias, tuple(sides)) * factors, 0)
        found, = execute(network, [data])
        assert found.shape == wanted.shape
        scale = np.abs(wanted).max(initial=1)
        assert np.abs(found - wanted).max(initial=0) <= ERROR * scale, (batch, *sizes)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("outputs", tiles_of((3, 3)), ids=str)
@pytest.mark.parametrize("name", SHAPES)
def test_tiles_of_3x3(engine: Engine, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, name: str,
                      outputs: tuple[int, ...], way: str) -> None:
    monkeypatch.setattr(engine, "capabilities", WAYS[way](engine.capabilities))
    _check(engine, rng, name, ((3, 3), outputs), "winograd")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("tile", [tile for tile in TILES if tile[0] != (3, 3)], ids=str)
def test_other_tiles(engine: Engine, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, tile: Tile,
                     way: str) -> None:
    """Of one of the shapes each."""
    monkeypatch.setattr(engine, "capabilities", WAYS[way](engine.capabilities))
    _check(engine, rng, str(rng.choice([*SHAPES])), tile, "winograd")


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_the_reference(engine: Engine, rng: np.random.Generator, tile: Tile) -> None:
    _check(engine, rng, "few", tile, "winograd_ref")


@pytest.mark.parametrize("kernel", ["winograd", "winograd_ref"])
def test_with_64_bits(engine: Engine, rng: np.random.Generator, kernel: str) -> None:
    _check(engine, rng, "few", ((3, 3), (4, 4)), kernel, large=True)


def test_many_units_share_little_work(engine: Engine, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch,
                                      ) -> None:
    """Also more work-items than panels and blocks, and runs of blocks."""
    for units in (1, 64):
        monkeypatch.setattr(engine, "capabilities", replace(engine.capabilities, compute_units=units))
        _check(engine, rng, "panels", ((3, 3), (2, 2)), "winograd")


@pytest.mark.parametrize("side", POINTS)
@pytest.mark.parametrize("size", [2, 3, 5, 7])
def test_the_transforms(rng: np.random.Generator, side: int, size: int) -> None:
    """Filters are polynomials whose values at the points are taken; all three transforms are a convolution."""
    points, outputs = POINTS[side], side - size + 1
    coefficients = rng.standard_normal(size)
    found = filter_matrix(points, size) @ coefficients
    for value, point in zip(found, points, strict=False):
        others = np.prod([point - other for other in points if other != point])
        assert value * others == pytest.approx(np.polynomial.polynomial.polyval(point, coefficients))
    assert found[-1] == coefficients[-1]
    if outputs > 1:
        data = rng.standard_normal(side)
        made = result_matrix(points, outputs) @ (found * (data_matrix(points) @ data))
        np.testing.assert_allclose(made, np.correlate(data, coefficients, "valid"), rtol=1e-10, atol=1e-10)


# -- which convolutions -----------------------------------------------------------------------------


def _kinds(engine: Engine, convolution: Primitive, weights: np.ndarray, *shape: object, **options: Any) -> set[type]:
    """The types of a convolution `y` of `x`, with weights `w`, behind the pass."""
    parts = given("x", *shape), constant("w", weights), convolution
    passes = infer_layouts, fuse_bias, transform_filters
    graph = graph_after(engine, Topology(*parts), passes, BuildOptions(**options))
    return {type(graph["y"].primitive)}


def _convolution(kind: type[Convolution] = Convolution, **changed: Any) -> Convolution:
    attributes: dict[str, Any] = {"strides": (1, 1), "dilations": (1, 1), "pads_begin": (1, 1), "pads_end": (1, 1)}
    return kind("y", ("x", "w"), **{**attributes, **changed})


def _weights(rng: np.random.Generator, *shape: int, kind: type = np.float32) -> np.ndarray:
    return rng.standard_normal(shape or (64, 64, 3, 3)).astype(kind)


@pytest.mark.parametrize("shape", [(1, 64, 56, 56), (ANY, 64, ANY, ANY)])
@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_those_of_3x3_are_transformed(engine: Engine, rng: np.random.Generator, kind: type,
                                      shape: tuple[object, ...]) -> None:
    assert _kinds(engine, _convolution(), _weights(rng, kind=kind), *shape) == {WinogradConvolution}


@pytest.mark.parametrize("window", [(5, 5), (2, 2), (7, 1), (1, 3), (3,), (5,)])
def test_those_of_one_axis_and_of_5_are_transformed(engine: Engine, rng: np.random.Generator,
                                                    window: tuple[int, ...]) -> None:
    axes = (1,) * len(window)
    convolution = _convolution(strides=axes, dilations=axes, pads_begin=axes, pads_end=axes)
    sizes = (200,) if len(window) == 1 else (56, 56)
    assert _kinds(engine, convolution, _weights(rng, 128, 128, *window), 1, 128, *sizes) == {WinogradConvolution}


def test_others_are_not(engine: Engine, rng: np.random.Generator) -> None:
    """Other strides, dilations, filters, groups, types of data; demands; and where it would take longer."""
    square = (1, 64, 56, 56)
    for changed in ({"strides": (2, 2)}, {"strides": (1, 2)}, {"dilations": (2, 1)}):
        assert _kinds(engine, _convolution(**changed), _weights(rng), *square) == {Convolution}
    for filters in ((3, 5), (1, 1), (6, 6), (1, 8)):
        assert _kinds(engine, _convolution(), _weights(rng, 64, 64, *filters), *square) == {Convolution}
    grouped = _kinds(engine, _convolution(GroupConvolution), _weights(rng, 2, 32, 32, 3, 3), *square)
    assert grouped == {GroupConvolution}
    forced = {"force_implementations": {"y": ("", "convolution_ref")}}
    assert _kinds(engine, _convolution(), _weights(rng), *square, **forced) == {Convolution}
    assert _kinds(engine, _convolution(), _weights(rng, 1024, 1024, 3, 3), 1, 1024, 2, 2) == {Convolution}
    assert _kinds(engine, _convolution(), _weights(rng, 64, 3, 3, 3), 1, 3, 56, 56) == {Convolution}


def test_what_pays_most_comes_first_where_there_is_little_room(engine: Engine, rng: np.random.Generator,
                                                              monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module(transform_filters.__module__)
    attributes: dict[str, Any] = {"strides": (1, 1), "dilations": (1, 1), "pads_begin": (1, 1), "pads_end": (1, 1)}
    topology = Topology(
        given("x", 1, 128, 112, 112), constant("w", _weights(rng, 128, 128, 3, 3)),
        constant("down", _weights(rng, 128, 128, 1, 1)),
        Convolution("large", ("x", "w"), **attributes),
        Convolution("less", ("large", "down"), **{**attributes, "strides": (4, 4)}),
        constant("v", _weights(rng, 128, 128, 3, 3)), Convolution("small", ("less", "v"), **attributes))

    def kinds(room: int) -> list[bool]:
        monkeypatch.setattr(module, "ANY_GROWTH", room)
        monkeypatch.setattr(module, "GROWTH", 0.0)
        graph = graph_after(engine, topology, (infer_layouts, transform_filters))
        return [isinstance(graph[id].primitive, WinogradConvolution) for id in ("large", "small")]

    assert kinds(64 << 20) == [True, True]
    assert kinds(128 * 128 * 27 * 4) == [True, False]
    assert kinds(0) == [False, False]


def test_tiles_that_are_kept_are_the_tiles(engine: Engine, rng: np.random.Generator, tmp_path: Path,
                                           monkeypatch: pytest.MonkeyPatch) -> None:
    """What was judged once is found by the same convolutions, whatever they are called, and by no others; files that
    are damaged, or of other code, are written anew."""
    module, judged = import_module(transform_filters.__module__), []
    judge = module._judged
    monkeypatch.setattr(module, "_judged", lambda *parts: judged.append(1) or judge(*parts))
    monkeypatch.setattr(module, "FEWEST", 1)
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(tmp_path))

    def tiles(size: object = 56, name: str = "y", weights: int = 64) -> tuple[tuple[int, ...] | None, bool]:
        judged.clear()
        topology = Topology(given("x", 1, 64, size, size), constant("w", _weights(rng, weights, 64, 3, 3)),
                            replace(_convolution(), id=name))
        graph = graph_after(engine, topology, (infer_layouts, transform_filters))
        return getattr(graph[name].primitive, "outputs", None), bool(judged)

    first, _ = tiles()
    assert first in tiles_of((3, 3))
    assert [tiles(), tiles(name="other")] == [(first, False)] * 2
    assert [tiles(2, weights=1024), tiles(2, weights=1024)] == [(None, True), (None, False)]
    assert [tiles(ANY)[1], tiles(ANY)[1]] == [True, False]
    files = [*(tmp_path / "choices").iterdir()]
    made_with, _ = json.loads(files[0].read_bytes())
    for damaged in ("", "[]", json.dumps([made_with, []]), json.dumps([made_with, [[[3, 3], 5, 2.0]]])):
        for file in files:
            file.write_text(damaged)
        assert [tiles(), tiles()] == [(first, True), (first, False)]
    monkeypatch.setattr(kept_choices, "code_stamp", lambda: "edited")
    assert [tiles(), tiles()] == [(first, True), (first, False)]
