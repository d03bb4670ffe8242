"""Products and attention on tensor cores: every tile, over shapes that leave borders, against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.convolution import kernels as convolving
from clinfer.ops.matmul import kernels as multiplying
from clinfer.ops.shared.tensor_cores import GROUP_TILES, SHARED_TILE, TILES, BulkTile, GroupTile, Tile
from clinfer.program.options import BuildOptions
from clinfer.program.program import Program
from clinfer.runtime.engine import Engine
from tests.ops.case_runner import execute
from tests.ops.compressed import Weights, check
from tests.oracle import assert_close

TOLERANCE = 2e-3
"""Operands and results of f16, sums in float: what rounding the result takes, and a little."""
PRODUCT_TILES = (*TILES, *GROUP_TILES, *multiplying.BulkKernel.tiles)
CONVOLUTION_TILES = (*TILES, *GROUP_TILES, *convolving.BulkKernel.tiles)
Shape = tuple[int, ...]


@pytest.fixture(autouse=True)
def has_tensor_cores(engine: Engine) -> None:
    if not engine.capabilities.tensor_cores:
        pytest.skip("the device has no tensor cores")


def _network(engine: Engine, model: ov.Model, kernel: str = "") -> Network:
    """The network of a model; `kernel` is forced for the layer named "tiled"."""
    options = BuildOptions({"tiled": ("", kernel)} if kernel else {})
    program = compile_topology(engine, to_topology(model).topology, OpenVinoShapeInference(), options)
    return Network(program, engine.create_stream(), OpenVinoShapeInference())


def _tile_name(tile: Tile) -> str:
    way = "tma" if isinstance(tile, BulkTile) else "wgmma" if isinstance(tile, GroupTile) else "mma"
    return f"{way}_{tile}"


def _skip_unless_able(engine: Engine, tile: Tile) -> None:
    if isinstance(tile, GroupTile) and not engine.capabilities.warp_group_products:
        pytest.skip("the device has no products by groups of warps")
    if isinstance(tile, BulkTile) and not engine.capabilities.bulk_copies:
        pytest.skip("the device has no tensor memory accelerator")


def _kernels(program: Program) -> set[str]:
    return {implementation.name for node in program.nodes for implementation in node.implementations}


def _random(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    return rng.uniform(-1, 1, shape).astype(np.float16)


def _size(rng: np.random.Generator, most: int, aligned: bool) -> int:
    """A size; aligned: one of rows that are copied in chunks."""
    return 8 * int(rng.integers(1, most // 8 + 1)) if aligned else int(rng.integers(1, most + 1))


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("along_k", [False, True])
@pytest.mark.parametrize("tile", PRODUCT_TILES, ids=_tile_name)
def test_products(engine: Engine, tile: Tile, along_k: bool, aligned: bool, rng: np.random.Generator) -> None:
    """relu(x @ w + bias) + other, for any number of rows, in one network."""
    _skip_unless_able(engine, tile)
    from openvino import opset13 as op
    depth, columns = _size(rng, 400, aligned), _size(rng, 300, aligned)
    weights = _random(rng, (columns, depth) if along_k else (depth, columns))
    bias, batches = _random(rng, (columns,)), int(rng.integers(1, 4))
    x = op.parameter([batches, -1, depth], ov.Type.f16)
    other = op.parameter([batches, -1, columns], ov.Type.f16)
    product = op.add(op.matmul(x, op.constant(weights), False, along_k, name="tiled"), op.constant(bias))
    model = ov.Model([op.add(op.relu(product), other)], [x, other], "product")
    network = _network(engine, model, f"matmul_{_tile_name(tile)}")
    assert f"matmul_{_tile_name(tile)}" in _kernels(network.program)
    right = (weights.T if along_k else weights).astype(np.float64)
    for rows in (int(rng.integers(1, 300)), 1, int(rng.integers(1, 300))):
        given = [_random(rng, (batches, rows, depth)), _random(rng, (batches, rows, columns))]
        expected = np.maximum(given[0].astype(np.float64) @ right + bias, 0) + given[1]
        assert_close(execute(network, given)[0].astype(np.float64), expected, TOLERANCE,
                     f"{batches}x{rows}x{depth} by {right.shape}")


def test_products_of_few_rows(engine: Engine, rng: np.random.Generator) -> None:
    """relu(x @ w + bias) + other, for fewer rows than the kernel takes at a time, as many, and more."""
    most = multiplying.FEW_ROWS[0]
    from openvino import opset13 as op
    for depth, columns in ((8 * int(rng.integers(1, 400)), int(rng.integers(1, 300))), (8, 1), (4096, 160),
                           (264, 7000), (1000, 4500)):
        weights, bias = _random(rng, (columns, depth)), _random(rng, (columns,))
        x, other = op.parameter([-1, 1, depth], ov.Type.f16), op.parameter([-1, 1, columns], ov.Type.f16)
        product = op.add(op.matmul(x, op.constant(weights), False, True, name="tiled"), op.constant(bias))
        network = _network(engine, ov.Model([op.add(op.relu(product), other)], [x, other], "product"),
                           f"matmul_few_{most}")
        for rows in (1, most, int(rng.integers(2, most)), 3 * most + 1, 1):
            given = [_random(rng, (rows, 1, depth)), _random(rng, (rows, 1, columns))]
            expected = np.maximum(given[0].astype(np.float64) @ weights.T.astype(np.float64) + bias, 0) + given[1]
            assert_close(execute(network, given)[0].astype(np.float64), expected, TOLERANCE,
                         f"{rows}x{depth} by {weights.shape}")


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
    weights = _random(rng, (columns, depth) if along_k else (depth, columns))
    x = op.parameter([-1, depth], ov.Type.f16)
    model = ov.Model([op.matmul(x, op.constant(weights), False, along_k, name="tiled")], [x], "product")
    network = _network(engine, model, f"matmul_{_tile_name(SHARED_TILE)}")
    right = (weights.T if along_k else weights).astype(np.float64)
    for rows in (1, 64, 65, int(rng.integers(1, 700)), int(rng.integers(1, 700)), 1500):
        given = _random(rng, (rows, depth))
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
    _check_convolution(engine, kernel, channels, (filter_size, filter_size), stride, (1, 1), rng)


@pytest.mark.parametrize("along_k", [False, True])
def test_products_of_batches(engine: Engine, along_k: bool, rng: np.random.Generator) -> None:
    """Both sides dynamic, the left one stretched over a batch; their rows are aligned or not."""
    from openvino import opset13 as op
    x, y = op.parameter([-1, 1, -1, -1], ov.Type.f16), op.parameter([1, -1, -1, -1], ov.Type.f16)
    network = _network(engine, ov.Model([op.matmul(x, y, False, along_k)], [x, y], "product"))
    for depth in (64, 40, 37, 8, 200):
        a, b, rows, columns = rng.integers(1, 4), rng.integers(1, 4), rng.integers(1, 90), rng.integers(1, 90)
        given = [_random(rng, (a, 1, rows, depth)),
                 _random(rng, (1, b, columns, depth) if along_k else (1, b, depth, columns))]
        right = given[1].astype(np.float64)
        expected = given[0].astype(np.float64) @ (right.swapaxes(-1, -2) if along_k else right)
        assert_close(execute(network, given)[0].astype(np.float64), expected, TOLERANCE, f"depth {depth}")


def _attention(query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: np.ndarray | None,
               causal: bool) -> np.ndarray:
    query, key, value = (x.astype(np.float64) for x in (query, key, value))
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    elif mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ value


@pytest.mark.parametrize("masked", ["", "causal", "added", "boolean"])
@pytest.mark.parametrize("depth, width", [(64, 64), (32, 40), (80, 128), (8, 8), (13, 51)])
def test_attention(engine: Engine, depth: int, width: int, masked: str, rng: np.random.Generator) -> None:
    from openvino import opset13 as op
    inputs = [op.parameter([-1, 3, -1, size], ov.Type.f16) for size in (depth, depth, width)]
    if masked in ("added", "boolean"):
        inputs.append(op.parameter([-1, 1, -1, -1], ov.Type.boolean if masked == "boolean" else ov.Type.f16))
    attention = op.scaled_dot_product_attention(*inputs, causal=masked == "causal")
    network = _network(engine, ov.Model([attention], inputs, "attention"))
    assert any(name.startswith("sdpa_mma") for name in _kernels(network.program))
    for batch, queries, keys in ((2, 70, 70), (1, 1, 200), (1, 129, 64), (2, 5, 3)):
        keys = queries if masked == "causal" else keys
        given = [_random(rng, (batch, 3, rows, size)) * 3
                 for rows, size in ((queries, depth), (keys, depth), (keys, width))]
        if len(inputs) == 4:
            mask = _random(rng, (batch, 1, queries, keys)) if masked == "added" else rng.random(
                (batch, 1, queries, keys)) < 0.7
            mask[..., 0] = 1
            given.append(mask)
        expected = _attention(*given[:3], given[3] if len(given) == 4 else None, masked == "causal")
        assert_close(execute(network, given)[0].astype(np.float64), expected, TOLERANCE,
                     f"{batch} x {queries} queries x {keys} keys")


FILTERS = [(1, 1, 1, 1), (3, 3, 1, 1), (3, 3, 2, 1), (1, 5, 1, 2), (1, 1, 2, 1)]


@pytest.mark.parametrize("tile", CONVOLUTION_TILES, ids=_tile_name)
@pytest.mark.parametrize("filter_y, filter_x, stride, dilation", FILTERS)
def test_convolutions(engine: Engine, tile: Tile, filter_y: int, filter_x: int, stride: int, dilation: int,
                      rng: np.random.Generator) -> None:
    _skip_unless_able(engine, tile)
    _check_convolution(engine, f"convolution_{_tile_name(tile)}", _size(rng, 150, True), (filter_y, filter_x), stride,
                       (dilation, dilation), rng)


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
    _check_convolution(engine, f"convolution_{kernel}", channels, (filter_y, filter_x), stride, (dilation_y, 1), rng)


def _check_convolution(engine: Engine, kernel: str, channels: int, filters: tuple[int, int], stride: int,
                       dilations: tuple[int, int], rng: np.random.Generator) -> None:
    """relu(conv(x) + bias) + other over pictures of any size, in one network; PyTorch's formula in NumPy."""
    from openvino import opset13 as op
    outputs = _size(rng, 150, False)
    weights, bias = _random(rng, (outputs, channels, *filters)), _random(rng, (1, outputs, 1, 1))
    pad = [size // 2 for size in filters]
    x = op.parameter([-1, channels, -1, -1], ov.Type.f16)
    convolved = op.convolution(x, op.constant(weights), [stride] * 2, pad, pad, list(dilations), name="tiled")
    other = op.parameter([-1, outputs, -1, -1], ov.Type.f16)
    result = op.add(op.relu(op.add(convolved, op.constant(bias))), other)
    network = _network(engine, ov.Model([result], [x, other], "convolution"), kernel)
    assert any(name.startswith(kernel) for name in _kernels(network.program))
    for batch, height, width in ((1, 9, 14), (3, 12, 11), (2, 20, 32)):
        data = _random(rng, (batch, channels, height, width))
        expected = _convolution(data, weights, stride, pad, dilations) + bias
        added = _random(rng, expected.shape)
        assert_close(execute(network, [data, added])[0].astype(np.float64), np.maximum(expected, 0) + added, TOLERANCE,
                     f"{data.shape} by {weights.shape}")


def _convolution(data: np.ndarray, weights: np.ndarray, stride: int, pad: list[int],
                 dilations: tuple[int, int]) -> np.ndarray:
    data = np.pad(data.astype(np.float64), ((0, 0), (0, 0), (pad[0],) * 2, (pad[1],) * 2))
    _, _, *filters = weights.shape
    height, width = ((size - dilation * (taps - 1) - 1) // stride + 1
                     for size, taps, dilation in zip(data.shape[2:], filters, dilations, strict=True))
    return sum(np.einsum("bchw,oc->bohw",
                         data[:, :, y * dilations[0]:y * dilations[0] + (height - 1) * stride + 1:stride,
                              x * dilations[1]:x * dilations[1] + (width - 1) * stride + 1:stride],
                         weights[:, :, y, x].astype(np.float64))
               for y in range(filters[0]) for x in range(filters[1]))


def test_the_same_input_gives_the_same_bits(engine: Engine, rng: np.random.Generator) -> None:
    from openvino import opset13 as op
    x = op.parameter([4, 200, 256], ov.Type.f16)
    weights = op.constant(_random(rng, (256, 256)))
    heads = [op.transpose(op.reshape(op.matmul(x, weights, False, True), [4, 200, 4, 64], False), [0, 2, 1, 3])
             for _ in range(3)]
    network = _network(engine, ov.Model([op.scaled_dot_product_attention(*heads)], [x], "attention"))
    given = _random(rng, (4, 200, 256))
    first = execute(network, [given])[0]
    for _ in range(5):
        assert np.array_equal(execute(network, [given])[0], first)
