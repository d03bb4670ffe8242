"""Products and attention on tensor cores: every tile, over shapes that leave borders, against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.frontend.openvino_import import openvino as ov
from clinfer.ops.convolution import kernels as convolving
from clinfer.ops.matmul import kernels as multiplying
from clinfer.ops.shared.tensor_cores import GROUP_TILES, SHARED_TILE, TILES, BulkTile, GroupTile, Tile
from clinfer.runtime.engine import Engine
from tests.ops.case_runner import execute
from tests.ops.compressed import Weights, check
from tests.ops.on_tensor_cores import (
    ATTENTION,
    TOLERANCE,
    check_attention,
    check_convolution,
    check_group_convolution,
    check_normalised_products,
    check_product,
    network_of,
    random_halves,
    random_size,
)
from tests.oracle import assert_close

PRODUCT_TILES = (*TILES, *GROUP_TILES, *multiplying.BulkKernel.tiles)
CONVOLUTION_TILES = (*TILES, *GROUP_TILES, *convolving.BulkKernel.tiles)


@pytest.fixture(autouse=True)
def has_tensor_cores(engine: Engine) -> None:
    if not engine.capabilities.tensor_cores:
        pytest.skip("the device has no tensor cores")


def _tile_name(tile: Tile) -> str:
    way = "tma" if isinstance(tile, BulkTile) else "wgmma" if isinstance(tile, GroupTile) else "mma"
    return f"{way}_{tile}"


def _skip_unless_able(engine: Engine, tile: Tile) -> None:
    if isinstance(tile, GroupTile) and not engine.capabilities.warp_group_products:
        pytest.skip("the device has no products by groups of warps")
    if isinstance(tile, BulkTile) and not engine.capabilities.bulk_copies:
        pytest.skip("the device has no tensor memory accelerator")


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("along_k", [False, True])
@pytest.mark.parametrize("tile", PRODUCT_TILES, ids=_tile_name)
def test_products(engine: Engine, tile: Tile, along_k: bool, aligned: bool, rng: np.random.Generator) -> None:
    _skip_unless_able(engine, tile)
    sizes = random_size(rng, 400, aligned), random_size(rng, 300, aligned)
    check_product(engine, rng, f"matmul_{_tile_name(tile)}", (int(rng.integers(1, 4)), -1), sizes, along_k,
                  (int(rng.integers(1, 300)), 1, int(rng.integers(1, 300))))


def test_products_of_few_rows(engine: Engine, rng: np.random.Generator) -> None:
    """Fewer rows than the kernel takes at a time, as many, and more."""
    most = multiplying.FEW_ROWS[0]
    for sizes in ((8 * int(rng.integers(1, 400)), int(rng.integers(1, 300))), (8, 1), (4096, 160), (264, 7000),
                  (1000, 4500)):
        check_product(engine, rng, f"matmul_few_{most}", (-1, 1), sizes, True,
                      (1, most, int(rng.integers(2, most)), 3 * most + 1, 1))


@pytest.mark.parametrize("most", multiplying.FEW_ROWS)
@pytest.mark.parametrize("kind, zero_point", [("i4", None), ("u4", "u4"), ("u4", "u8"), ("i8", None), ("i8", "i8"),
                                              ("u8", "u8"), ("u8", None)])
def test_products_of_few_rows_and_compressed_weights(engine: Engine, most: int, kind: str, zero_point: str | None,
                                                     rng: np.random.Generator) -> None:
    for depth, groups in ((32 * int(rng.integers(1, 80)), 1), (64 * int(rng.integers(3, 40)), 0), (4096, 32),
                          (192, 3)):
        columns = 5000 if depth == 192 else int(rng.integers(1, 200))
        weights = Weights.random(rng, kind, (depth, columns), groups or depth // 64, True,
                                 zero_point=zero_point, bias=True)
        rows = (1, most // 2, int(rng.integers(1, most)), most + 1)
        check(engine, rng, weights, True, rows, f"matmul_few_{most}", with_epilogue=True, kind="f16")


@pytest.mark.parametrize("depth", [32, 2048, 4096])
def test_products_that_normalise_few_rows(engine: Engine, depth: int, rng: np.random.Generator) -> None:
    check_normalised_products(engine, rng, depth, random_size(rng, 5000, False))


@pytest.mark.parametrize("tile", multiplying.BulkKernel.tiles, ids=_tile_name)
@pytest.mark.parametrize("kind, zero_point", [("i4", None), ("u4", "u4"), ("i8", None), ("u8", "u8")])
def test_products_of_unpacked_weights(engine: Engine, tile: Tile, kind: str, zero_point: str | None,
                                      rng: np.random.Generator) -> None:
    _skip_unless_able(engine, tile)
    depth, columns = 8 * int(rng.integers(1, 100)), 8 * int(rng.integers(1, 50))
    weights = Weights.random(rng, kind, (depth, columns), int(rng.choice([1, 4])), True, zero_point=zero_point,
                             bias=bool(rng.integers(2)))
    check(engine, rng, weights, True, (40, 1, 300), f"matmul_unpacked_{tile}", with_epilogue=True, kind="f16")


@pytest.mark.parametrize("along_k", [False, True])
def test_products_whose_steps_are_shared(engine: Engine, along_k: bool, rng: np.random.Generator) -> None:
    """Any number of tiles, of which a long sum is shared by two groups to many; the same bits again each time."""
    from openvino import opset13 as op
    _skip_unless_able(engine, SHARED_TILE)
    depth, columns = 8 * int(rng.integers(144, 800)), 8 * int(rng.integers(1, 100))
    weights = random_halves(rng, (columns, depth) if along_k else (depth, columns))
    x = op.parameter([-1, depth], ov.Type.f16)
    model = ov.Model([op.matmul(x, op.constant(weights), False, along_k, name="tiled")], [x], "product")
    network = network_of(engine, model, f"matmul_{_tile_name(SHARED_TILE)}")
    right = (weights.T if along_k else weights).astype(np.float64)
    for rows in (1, 64, 65, int(rng.integers(1, 700)), int(rng.integers(1, 700)), 1500):
        given = random_halves(rng, (rows, depth))
        found = [execute(network, [given])[0] for _ in range(3)]
        assert_close(found[0].astype(np.float64), given.astype(np.float64) @ right, TOLERANCE, f"{rows}x{right.shape}")
        assert all(np.array_equal(found[0], other) for other in found[1:])


@pytest.mark.parametrize("filter_size, stride", [(3, 1), (3, 2), (1, 1)])
def test_convolutions_whose_steps_are_shared(engine: Engine, filter_size: int, stride: int,
                                             rng: np.random.Generator) -> None:
    """Few pixels of many channels."""
    _skip_unless_able(engine, SHARED_TILE)
    channels = 8 * int(rng.integers(40, 100)) if filter_size > 1 else 8 * int(rng.integers(150, 300))
    kernel = f"convolution_{_tile_name(SHARED_TILE)}"
    check_convolution(engine, rng, kernel, channels, (filter_size, filter_size), stride, (1, 1))


@pytest.mark.parametrize("along_k", [False, True])
def test_products_of_batches(engine: Engine, along_k: bool, rng: np.random.Generator) -> None:
    """Both sides dynamic, the left one stretched over a batch; their rows are aligned or not."""
    from openvino import opset13 as op
    x, y = op.parameter([-1, 1, -1, -1], ov.Type.f16), op.parameter([1, -1, -1, -1], ov.Type.f16)
    network = network_of(engine, ov.Model([op.matmul(x, y, False, along_k)], [x, y], "product"))
    for depth in (64, 40, 37, 8, 200):
        a, b, rows, columns = rng.integers(1, 4), rng.integers(1, 4), rng.integers(1, 90), rng.integers(1, 90)
        given = [random_halves(rng, (a, 1, rows, depth)),
                 random_halves(rng, (1, b, columns, depth) if along_k else (1, b, depth, columns))]
        right = given[1].astype(np.float64)
        expected = given[0].astype(np.float64) @ (right.swapaxes(-1, -2) if along_k else right)
        assert_close(execute(network, given)[0].astype(np.float64), expected, TOLERANCE, f"depth {depth}")


@pytest.mark.parametrize("kernel", ["sdpa_mma", "sdpa_wgmma"])
@pytest.mark.parametrize("masked, walk", ATTENTION)
@pytest.mark.parametrize("depth, width", [(64, 64), (32, 40), (80, 128), (8, 8), (13, 51)])
def test_attention(engine: Engine, kernel: str, depth: int, width: int, masked: str, walk: str,
                   rng: np.random.Generator) -> None:
    if kernel == "sdpa_wgmma" and not engine.capabilities.warp_group_products:
        pytest.skip("the device has no products by groups of warps")
    aligned = depth % 8 == width % 8 == 0
    check_attention(engine, rng, (depth, width), masked,
                    ((2, 70, 70), (1, 1, 200), (1, 129, 64), (1, 200, 300), (12, 5, 3)),
                    f"{kernel}{'' if aligned else '_anywhere'}{walk}")


FILTERS = [(1, 1, 1, 1), (3, 3, 1, 1), (3, 3, 2, 1), (1, 5, 1, 2), (1, 1, 2, 1)]


@pytest.mark.parametrize("tile", CONVOLUTION_TILES, ids=_tile_name)
@pytest.mark.parametrize("filter_y, filter_x, stride, dilation", FILTERS)
def test_convolutions(engine: Engine, tile: Tile, filter_y: int, filter_x: int, stride: int, dilation: int,
                      rng: np.random.Generator) -> None:
    _skip_unless_able(engine, tile)
    check_convolution(engine, rng, f"convolution_{_tile_name(tile)}", random_size(rng, 150, True), (filter_y, filter_x),
                      stride, (dilation, dilation))


@pytest.mark.parametrize("filters, stride", [((3, 3, 3), 1), ((1, 5, 2), 2), ((7,), 2)])
@pytest.mark.parametrize("tile", (*TILES, *GROUP_TILES), ids=_tile_name)
def test_convolutions_over_other_axes(engine: Engine, tile: Tile, filters: tuple[int, ...], stride: int,
                                      rng: np.random.Generator) -> None:
    _skip_unless_able(engine, tile)
    pictures = ((1, 5, 9, 8), (3, 4, 12, 7), (2, 8, 5, 20)) if len(filters) == 3 else ((2, 190), (1, 7), (3, 1000))
    dilations = tuple(int(size) for size in rng.integers(1, 3, len(filters)))
    check_convolution(engine, rng, f"convolution_{_tile_name(tile)}", random_size(rng, 150, True), filters, stride,
                      dilations, pictures)


@pytest.mark.parametrize("filters, stride", [((3, 3), 1), ((1, 5), 2), ((2, 3, 3), 1)])
@pytest.mark.parametrize("tile", (*TILES, *GROUP_TILES), ids=_tile_name)
def test_convolutions_of_groups(engine: Engine, tile: Tile, filters: tuple[int, ...], stride: int,
                                rng: np.random.Generator) -> None:
    _skip_unless_able(engine, tile)
    pictures = ((1, 5, 9, 8), (3, 2, 12, 7)) if len(filters) == 3 else ((1, 9, 14), (3, 12, 11), (2, 20, 32))
    groups = int(rng.integers(2, 6)), random_size(rng, 150, False), random_size(rng, 64, True)
    check_group_convolution(engine, rng, f"convolution_{_tile_name(tile)}", groups, filters, stride, pictures)


@pytest.mark.parametrize("channels", [1, 3, 4, 17])
@pytest.mark.parametrize("kernel, filter_y, filter_x, stride, dilation_y", [
    *(("mma_planar", *filters) for filters in (
        (7, 7, 2, 1), (16, 16, 16, 1), (3, 2, 1, 3), (1, 11, 4, 1))),
    *((f"mma_rows_{rows}", *filters) for rows in (1, 4) for filters in (
        (7, 7, 2, 1), (3, 3, 2, 1), (5, 8, 4, 2), (1, 1, 2, 1))),
    *((f"wgmma_patches_{tile}", *filters) for tile in GROUP_TILES for filters in ((16, 16, 16, 1), (3, 16, 8, 2)))])
def test_convolutions_of_few_channels(engine: Engine, kernel: str, channels: int, filter_y: int, filter_x: int,
                                      stride: int, dilation_y: int, rng: np.random.Generator) -> None:
    if "wgmma" in kernel:
        _skip_unless_able(engine, GROUP_TILES[0])
    if "rows" in kernel:
        channels = min(channels, 5)  # what a group holds
    check_convolution(engine, rng, f"convolution_{kernel}", channels, (filter_y, filter_x), stride, (dilation_y, 1))


def test_the_same_input_gives_the_same_bits(engine: Engine, rng: np.random.Generator) -> None:
    from openvino import opset13 as op
    x = op.parameter([4, 200, 256], ov.Type.f16)
    weights = op.constant(random_halves(rng, (256, 256)))
    heads = [op.transpose(op.reshape(op.matmul(x, weights, False, True), [4, 200, 4, 64], False), [0, 2, 1, 3])
             for _ in range(3)]
    network = network_of(engine, ov.Model([op.scaled_dot_product_attention(*heads)], [x], "attention"))
    given = random_halves(rng, (4, 200, 256))
    first = execute(network, [given])[0]
    for _ in range(5):
        assert np.array_equal(execute(network, [given])[0], first)
