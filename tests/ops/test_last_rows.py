"""Products in tiles of wide vectors or of AMX's registers, whose last rows are smaller ones: any number of rows, in one
network."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clinfer.frontend.openvino_import import openvino as ov
from clinfer.kernels.contract import Problem
from clinfer.ops.shared.float_products import IN_REGISTERS, float_tiles, narrow_only, rows_refusal, tiles_of_rows
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import TOLERANCE, assert_close

TILES = (14, 13, 8)


@pytest.fixture(autouse=True)
def able(engine: Engine) -> None:
    device = engine.capabilities
    if narrow_only(device) is None or float_tiles(device).recipe.refusal(device):
        pytest.skip("the device has no wide vectors with assembly")


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("kind, tile", [("f32", tile) for tile in TILES] + [
    ("bf16", tile) for tile in (*TILES, *IN_REGISTERS)])
def test_any_number_of_rows(engine: Engine, rng: np.random.Generator, tile: int, kind: str, turned: bool) -> None:
    """relu(x @ w + bias) + other; of a left side that is turned around, all rows are copied."""
    from openvino import opset13 as op
    refusal = rows_refusal(engine.capabilities, tile)
    if refusal:
        pytest.skip(refusal)
    depth, columns, kernel = 8 * int(rng.integers(1, 60)), int(rng.integers(1, 100)), f"matmul_{kind}_{tile}"
    weights, bias = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((depth, columns), columns))
    x, other = op.parameter([2, depth, -1] if turned else [2, -1, depth]), op.parameter([2, -1, columns])
    given = [op.convert(each, "bf16") for each in (x, op.constant(weights))] if kind == "bf16" else [
        x, op.constant(weights)]
    product = op.matmul(*given, turned, False, name="tiled")
    wide = op.convert(product, "f32") if kind == "bf16" else product
    network = network_of(engine, ov.Model([op.add(op.relu(op.add(wide, op.constant(bias))), other)], [x, other], "m"),
                         BuildOptions({"tiled": ("", kernel)}))
    assert kernel in {implementation.name for node in network.program.nodes for implementation in node.implementations}
    for rows in (*(2 * tile + rest for rest in range(tile)), *range(tile + 1)):
        left, added = (rng.uniform(-1, 1, (2, rows, size)).astype(np.float32) for size in (depth, columns))
        found, = execute(network, [left.swapaxes(1, 2).copy() if turned else left, added])
        wanted = np.maximum(left.astype(np.float64) @ weights + bias, 0) + added
        assert_close(found, wanted, TOLERANCE[kind], f"{rows} rows")


def test_few_last_rows_take_less(engine: Engine) -> None:
    """They count as a share of a tile, those that fill most of one as a whole."""
    from openvino import opset13 as op
    x = op.parameter([196, 64])
    network = network_of(engine, ov.Model([op.matmul(x, op.constant(np.ones((64, 64), np.float32)), False, False,
                                                     name="tiled")], [x], "m"), BuildOptions())
    problem: Problem = next(node.implementations[0].problem for node in network.program.nodes if node.implementations)
    assert tiles_of_rows(problem, 196, 14) == 14
    assert 14 < tiles_of_rows(problem, 197, 14) < tiles_of_rows(problem, 203, 14) < 15
    assert tiles_of_rows(problem, 205, 14) == tiles_of_rows(problem, 210, 14) == 15
    assert tiles_of_rows(problem, 1, 14) == 1
    assert tiles_of_rows(problem, 9, 8) == 2
    assert [tiles_of_rows(problem, rows, 32) for rows in (1, 16, 24, 32, 64, 65)] == [0.625, 0.625, 0.75, 1, 2, 2.625]
    narrow = replace(problem.capabilities, vector_floats=8, bf16_products=False)
    assert tiles_of_rows(replace(problem, capabilities=narrow), 7, 6) == 2
