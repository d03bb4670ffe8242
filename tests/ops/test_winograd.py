"""Convolutions of 3x3 by transformed filters: every size of tiles and every way to multiply, against sums in f64."""
from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
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
from clinfer.ops.winograd_convolution import POINTS, WinogradConvolution, transformed
from clinfer.ops.winograd_convolution.op import filter_matrix
from clinfer.program import kept_choices
from clinfer.program.options import BuildOptions
from clinfer.program.passes import fuse_bias, infer_layouts, transform_filters
from clinfer.runtime.capabilities import Capabilities
from clinfer.runtime.engine import Engine
from clinfer.topology import Primitive, Topology
from tests.ops.case_runner import execute
from tests.program.building import constant, given, graph_after

ERROR = 4e-6
"""Of the largest output; sums one by one in f32 have a third of it."""
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


def _wanted(data: np.ndarray, weights: np.ndarray, bias: np.ndarray, pads: tuple[int, ...]) -> np.ndarray:
    top, left, bottom, right = pads
    padded = np.pad(data.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    height, width = (size - 2 for size in padded.shape[2:])
    sums = sum(np.einsum("oc,nchw->nohw", weights[:, :, y, x].astype(np.float64),
                         padded[:, :, y:y + height, x:x + width]) for y in range(3) for x in range(3))
    return np.asarray(sums + bias[:, None, None])


def _check(engine: Engine, rng: np.random.Generator, name: str, outputs: int, kernel: str, large: bool = False) -> None:
    """With a bias, and a fused factor of each channel and Relu."""
    inputs, channels, pads, pictures = SHAPES[name]
    weights = (rng.standard_normal((channels, inputs, 3, 3)) / np.sqrt(9 * inputs)).astype(np.float32)
    bias = rng.standard_normal(channels).astype(np.float32)
    factors = rng.uniform(0.5, 1.5, (channels, 1, 1)).astype(np.float32)
    convolution = WinogradConvolution("y", ("x", "w", "bias"), strides=(1, 1), dilations=(1, 1), pads_begin=pads[:2],
                                      pads_end=pads[2:], outputs=outputs)
    topology = Topology(given("x", ANY, inputs, ANY, ANY), constant("w", transformed(weights, outputs)),
                        constant("bias", bias), convolution, constant("factors", factors),
                        Eltwise("scaled", ("y", "factors"), mode="Multiply"), Eltwise("high", ("scaled",), mode="Relu"))
    options = BuildOptions({"y": ("", kernel)}, large_indices=large)
    program = compile_topology(engine, topology, OpenVinoShapeInference(), options)
    network = Network(program, engine.create_stream(), OpenVinoShapeInference())
    for batch, *sizes in pictures:
        data = rng.standard_normal((batch, inputs, *(size + 2 - sum(pads[axis::2]) for axis, size in enumerate(sizes))))
        data = data.astype(np.float32)
        wanted = np.maximum(_wanted(data, weights, bias, pads) * factors, 0)
        found, = execute(network, [data])
        assert found.shape == wanted.shape == (batch, channels, *sizes)
        scale = np.abs(wanted).max(initial=1)
        assert np.abs(found - wanted).max(initial=0) <= ERROR * scale, (batch, *sizes)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("outputs", POINTS)
@pytest.mark.parametrize("name", SHAPES)
def test_tiles(engine: Engine, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, name: str, outputs: int,
               way: str) -> None:
    monkeypatch.setattr(engine, "capabilities", WAYS[way](engine.capabilities))
    _check(engine, rng, name, outputs, "winograd")


@pytest.mark.parametrize("outputs", POINTS)
def test_the_reference(engine: Engine, rng: np.random.Generator, outputs: int) -> None:
    _check(engine, rng, "few", outputs, "winograd_ref")


@pytest.mark.parametrize("kernel", ["winograd", "winograd_ref"])
def test_with_64_bits(engine: Engine, rng: np.random.Generator, kernel: str) -> None:
    _check(engine, rng, "few", 4, kernel, large=True)


def test_many_units_share_little_work(engine: Engine, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch,
                                      ) -> None:
    """Also more work-items than panels and blocks, and runs of blocks."""
    for units in (1, 64):
        monkeypatch.setattr(engine, "capabilities", replace(engine.capabilities, compute_units=units))
        _check(engine, rng, "panels", 2, "winograd")


@pytest.mark.parametrize("outputs", POINTS)
def test_filters_are_evaluated_at_the_points(rng: np.random.Generator, outputs: int) -> None:
    coefficients = rng.standard_normal(3)
    found = filter_matrix(POINTS[outputs]) @ coefficients
    for value, point in zip(found, POINTS[outputs], strict=False):
        others = np.prod([point - other for other in POINTS[outputs] if other != point])
        assert value * others == pytest.approx(np.polynomial.polynomial.polyval(point, coefficients))
    assert found[-1] == coefficients[-1]


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


def test_others_are_not(engine: Engine, rng: np.random.Generator) -> None:
    """Other strides, dilations, filters, groups, types of data; demands; and where it would take longer."""
    square = (1, 64, 56, 56)
    for changed in ({"strides": (2, 2)}, {"strides": (1, 2)}, {"dilations": (2, 1)}):
        assert _kinds(engine, _convolution(**changed), _weights(rng), *square) == {Convolution}
    for filters in ((5, 5), (1, 3), (1, 1)):
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

    def tiles(size: object = 56, name: str = "y", weights: int = 64) -> tuple[int | None, bool]:
        judged.clear()
        topology = Topology(given("x", 1, 64, size, size), constant("w", _weights(rng, weights, 64, 3, 3)),
                            replace(_convolution(), id=name))
        graph = graph_after(engine, topology, (infer_layouts, transform_filters))
        return getattr(graph[name].primitive, "outputs", None), bool(judged)

    first, _ = tiles()
    assert first in POINTS
    assert [tiles(), tiles(name="other")] == [(first, False)] * 2
    assert [tiles(2, weights=1024), tiles(2, weights=1024)] == [(None, True), (None, False)]
    assert [tiles(ANY)[1], tiles(ANY)[1]] == [True, False]
    files = [*(tmp_path / "choices").iterdir()]
    made_with, _ = json.loads(files[0].read_bytes())
    for damaged in ("", "[]", json.dumps([made_with, []]), json.dumps([made_with, [[3, 5, 2.0]]])):
        for file in files:
            file.write_text(damaged)
        assert [tiles(), tiles()] == [(first, True), (first, False)]
    monkeypatch.setattr(kept_choices, "code_stamp", lambda: "edited")
    assert [tiles(), tiles()] == [(first, True), (first, False)]
