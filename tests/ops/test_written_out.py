"""Kernels for NVIDIA's tensor cores on CPUs, their instructions written out (ptx.py), against NumPy."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clinfer.ops.convolution import Convolution, GroupConvolution
from clinfer.ops.matmul import MatMul
from clinfer.ops.matmul import kernels as multiplying
from clinfer.ops.sdpa import ScaledDotProductAttention
from clinfer.ops.shared.tensor_cores import TILES, Tile
from clinfer.runtime.engine import Engine
from tests.deferring import Selection
from tests.ops.compressed import Weights, check_program, select
from tests.ops.on_tensor_cores import (
    ATTENTION,
    TOLERANCE,
    check_attention,
    check_convolution,
    check_group_convolution,
    check_normalised_products,
    check_product,
    random_size,
)
from tests.ops.ptx import has_warps, write_out


@pytest.fixture(autouse=True)
def on_a_cpu(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    if engine.device.type != "CPU":
        pytest.skip("made for CPUs")
    write_out(monkeypatch, MatMul, "matmul_few", "matmul_mma")
    write_out(monkeypatch, ScaledDotProductAttention, "sdpa_mma")
    write_out(monkeypatch, Convolution, "convolution_mma", "convolution_mma_planar", "convolution_mma_rows")
    write_out(monkeypatch, GroupConvolution, "convolution_mma")


@pytest.fixture
def with_warps(engine: Engine) -> None:
    if not has_warps(engine.capabilities):
        pytest.skip("the device has no warps, which these kernels send different ways")


def test_products_of_few_rows(engine: Engine, rng: np.random.Generator) -> None:
    """Fewer rows than the kernel takes at a time, as many, and more; of one step and a part of one, and of several."""
    most = multiplying.FEW_ROWS[0]
    for depth in (8 * int(rng.integers(1, 250)), 2048 + 8 * int(rng.integers(250))):
        check_product(engine, rng, f"matmul_few_{most}", (-1, 1), (depth, random_size(rng, 50, False)), True,
                      (1, int(rng.integers(2, most)), 2 * most + 1, most, 1))


@pytest.mark.parametrize("kind, zero_point", [("i4", None), ("u4", "u4"), ("u4", "u8"), ("i8", None), ("i8", "i8"),
                                              ("u8", "u8"), ("u8", None)])
def test_products_of_few_rows_and_compressed_weights(engine: Engine, kind: str, zero_point: str | None,
                                                     rng: np.random.Generator) -> None:
    selection, programs = Selection(engine), {}
    for most in multiplying.FEW_ROWS:
        groups = int(rng.integers(1, 100))
        weights = Weights.random(rng, kind, (32 * groups, random_size(rng, 50, False)), groups, True,
                                 zero_point=zero_point, bias=True)
        programs[most] = weights, select(selection, weights, True, f"matmul_few_{most}", with_epilogue=True, kind="f16")
    selection.build()
    for most, (weights, program) in programs.items():
        check_program(program, rng, weights, True, (1, int(rng.integers(most // 2, 2 * most))), tolerance=TOLERANCE)


def test_products_that_normalise_few_rows(engine: Engine, rng: np.random.Generator) -> None:
    check_normalised_products(engine, rng, 32 * int(rng.integers(1, 100)), random_size(rng, 50, False))


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_products(engine: Engine, with_warps: None, tile: Tile, rng: np.random.Generator) -> None:
    sizes = random_size(rng, 100, tile.aligned), random_size(rng, 150, tile.aligned)
    check_product(engine, rng, f"matmul_mma_{tile}", (2, -1), sizes, bool(rng.integers(2)),
                  (int(rng.integers(1, 150)), 1))


@pytest.mark.parametrize("masked, walk", ATTENTION)
def test_attention(engine: Engine, with_warps: None, masked: str, walk: str, rng: np.random.Generator) -> None:
    aligned = bool(rng.integers(2))
    widths = random_size(rng, 128, aligned), random_size(rng, 128, aligned)
    kernel = f"sdpa_mma{'' if aligned else '_anywhere'}{walk}"
    check_attention(engine, rng, widths, masked, ((1, 70, 70), (1, 1, 200), (12, 5, 3)), kernel)


@pytest.mark.parametrize("kernel, channels, filters, stride", [
    *((f"convolution_mma_{tile}", 24, (3, 3), 1 + number % 2) for number, tile in enumerate(TILES)),
    ("convolution_mma_planar", 3, (7, 5), 2), ("convolution_mma_rows_1", 3, (7, 7), 2),
    ("convolution_mma_rows_4", 1, (3, 3), 2)])
def test_convolutions(engine: Engine, with_warps: None, kernel: str, channels: int, filters: tuple[int, int],
                      stride: int, rng: np.random.Generator) -> None:
    check_convolution(engine, rng, kernel, channels, filters, stride, (1, 1), ((1, 9, 14), (2, 6, 5)))


@pytest.mark.parametrize("tile, channels, filters, stride", [(TILES[0], 8, (3, 3, 2), 1), (TILES[1], 24, (1, 1, 1), 2),
                                                             (TILES[4], 16, (5,), 2)], ids=str)
def test_convolutions_over_other_axes(engine: Engine, with_warps: None, tile: Tile, channels: int,
                                      filters: tuple[int, ...], stride: int, rng: np.random.Generator) -> None:
    sizes = ((1, 3, 4, 5), (2, 4, 7, 3)) if len(filters) == 3 else ((2, 19), (1, 40))
    dilations = tuple(int(size) for size in rng.integers(1, 3, len(filters)))
    check_convolution(engine, rng, f"convolution_mma_{tile}", channels, filters, stride, dilations, sizes)


@pytest.mark.parametrize("tile, groups, filters, stride", [
    (TILES[0], (3, 24, 24), (3, 3), 1), (TILES[0], (2, 40, 8), (2, 3, 2), 2), (TILES[2], (2, 72, 16), (1, 1), 1),
    (TILES[4], (3, 7, 16), (5,), 2)], ids=str)
def test_convolutions_of_groups(engine: Engine, with_warps: None, tile: Tile, groups: tuple[int, int, int],
                                filters: tuple[int, ...], stride: int, rng: np.random.Generator) -> None:
    sizes = {1: ((2, 19), (1, 40)), 2: ((1, 9, 14), (3, 6, 5)), 3: ((1, 3, 4, 5), (2, 2, 7, 3))}[len(filters)]
    check_group_convolution(engine, rng, f"convolution_mma_{tile}", groups, filters, stride, sizes)


def test_volumes_of_few_channels_are_filled_up(engine: Engine, with_warps: None, monkeypatch: pytest.MonkeyPatch,
                                               rng: np.random.Generator) -> None:
    monkeypatch.setattr(engine, "capabilities", replace(engine.capabilities, tensor_cores=True))
    check_convolution(engine, rng, f"convolution_mma_{TILES[0]}", 3, (2, 3, 3), 2, (1, 1, 1),
                      ((1, 3, 4, 5), (2, 4, 7, 3)))
