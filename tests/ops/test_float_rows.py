"""Matrix products of floats by assembly on CPUs, whatever their vectors hold: every tile, with as many rows as make
work-items of one tile and of many."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset13 as op

from clinfer.frontend.openvino_import import openvino as ov
from clinfer.ops.shared.float_products import float_tiles
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import assert_close

TOLERANCE = 1e-4
TILES = (14, 13, 10, 8, 6, 5, 4)
"""Rows of those that some device has."""


def _random(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.uniform(-1, 1, shape).astype(np.float32)


@pytest.mark.parametrize("transposed", ["", "left", "right"])
@pytest.mark.parametrize("tile", TILES)
def test_products(engine: Engine, tile: int, transposed: str, rng: np.random.Generator) -> None:
    """relu(x @ w + bias) + other, for any number of rows, in one network."""
    tiles = float_tiles(engine.capabilities)
    if tiles.recipe.refusal(engine.capabilities) or tile not in tiles.speeds:
        pytest.skip("the device has no such tiles")
    depth, columns = 8 * int(rng.integers(1, 60)), int(rng.integers(1, 100))
    weights = _random(rng, *((columns, depth) if transposed == "right" else (depth, columns)))
    bias, batches = _random(rng, columns), int(rng.integers(1, 4))
    sides = (lambda rows: (depth, rows)) if transposed == "left" else (lambda rows: (rows, depth))
    x, other = op.parameter([batches, *sides(-1)]), op.parameter([batches, -1, columns])
    product = op.matmul(x, op.constant(weights), transposed == "left", transposed == "right", name="tiled")
    model = ov.Model([op.add(op.relu(op.add(product, op.constant(bias))), other)], [x, other], "product")
    network = network_of(engine, model, BuildOptions({"tiled": ("", f"matmul_f32_{tile}")}))
    for rows in (int(rng.integers(2, 150)), 1, int(rng.integers(300, 900)), tile, 0):
        left, added = _random(rng, batches, *sides(rows)), _random(rng, batches, rows, columns)
        wide = left.astype(np.float64)
        wide = wide.swapaxes(1, 2) if transposed == "left" else wide
        wide = wide @ (weights.T if transposed == "right" else weights) + bias
        assert_close(execute(network, [left, added])[0], np.maximum(wide, 0) + added, TOLERANCE)
