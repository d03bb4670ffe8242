"""Products of data that are whole numbers of 8 bits times a step: every tile, against exact sums."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clinfer.base.quantisation import Quantisation
from clinfer.base.shape import ANY
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.matmul import MatMul
from clinfer.ops.shared.byte_products import TILES, shared_panels
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from clinfer.topology import Topology
from tests.ops.case_runner import execute
from tests.program.building import constant, given

STEP = np.float32(0.03)
F32 = 1e-6
"""Sums are exact; what is left is rounding of the last operations in f32."""


@pytest.fixture(autouse=True)
def runs_on_a_cpu(engine: Engine) -> None:
    if engine.capabilities.device_type != "CPU":
        pytest.skip("made for CPUs")


def _check(engine: Engine, rng: np.random.Generator, shape: tuple[int, int], tile: int, zero_point: int = 128,
           transpose: bool = False, rows: tuple[int, ...] = (1, 30, 3, 0, 15)) -> None:
    """A product with a bias and a fused addition, at extreme values too, for these numbers of rows in turn."""
    depth, columns = shape
    weights = rng.integers(-128, 128, shape).astype(np.int8)
    weights[:, 0] = 127
    scale = rng.uniform(0.5, 1.5, (1, columns)).astype(np.float32)
    bias = rng.standard_normal(columns).astype(np.float32)
    start = (-zero_point * weights.sum(0, dtype=np.int64)).astype(np.int32)[None]
    constants = [constant("w", weights.T.copy() if transpose else weights), constant("scale", scale),
                 constant("grid", np.array([[1 / STEP, zero_point, STEP]], np.float32)), constant("start", start),
                 constant("bias", bias)]
    product = MatMul("y", ("x", *(c.id for c in constants)), transpose_b=transpose, quantisation=Quantisation(2),
                     data_grid=3)
    topology = Topology(given("x", 2, ANY, depth), *constants, product, given("other", 2, ANY, columns),
                        Eltwise("sum", ("y", "other"), mode="Add"), Eltwise("high", ("sum",), mode="Relu"))
    options = BuildOptions({"y": ("", f"matmul_bytes_{tile}")})
    program = compile_topology(engine, topology, OpenVinoShapeInference(), options)
    network = Network(program, engine.create_stream(), OpenVinoShapeInference())
    for count in rows:
        whole = rng.integers(0, 256, (2, count, depth)) - zero_point
        whole[:, :1] = 255 - zero_point
        other = rng.standard_normal((2, count, columns)).astype(np.float32)
        found, = execute(network, [(whole * STEP).astype(np.float32), other])
        wanted = (whole @ weights.astype(np.int64)) * (scale.astype(np.float64) * STEP) + bias + other
        wanted = np.maximum(wanted, 0)
        assert np.abs(found - wanted).max(initial=0) <= F32 * np.abs(wanted).max(initial=1)


@pytest.mark.parametrize("tile", TILES)
def test_every_tile_is_exact(engine: Engine, rng: np.random.Generator, tile: int) -> None:
    _check(engine, rng, (75, 41), tile, transpose=tile % 8 == 0)


@pytest.mark.parametrize("depth, columns, zero_point", [(1, 1, 0), (1030, 200, 255), (4, 33, 3)])
def test_borders(engine: Engine, rng: np.random.Generator, depth: int, columns: int, zero_point: int) -> None:
    """More than one step along the inner axis, several panels for one work-item, less than four of anything."""
    _check(engine, rng, (depth, columns), 14, zero_point, rows=(29, 1))


def test_without_the_instructions(engine: Engine, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "capabilities", replace(engine.capabilities, byte_products=False))
    _check(engine, rng, (70, 37), 4, transpose=True, rows=(1, 9))


def test_panels_are_shared_where_enough_work_is_left() -> None:
    assert shared_panels(1, 3, 2) == 1 and shared_panels(10, 24, 2) == 4 and shared_panels(2, 12, 4) == 2
    assert shared_panels(0, 5, 2) == 1
