"""Products of floats by assembly on CPUs with narrow vectors: every tile, over shapes that leave borders, rows that lie
anywhere or nowhere, and what compilers hold in registers."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.frontend.openvino_import import openvino as ov
from clinfer.kernels.jitter import common_source, kernel_source
from clinfer.kernels.standalone import OPERANDS, standalone_source
from clinfer.network.network import Network
from clinfer.ops.shared.float_products import float_tiles, narrow_only
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from clinfer.runtime.launches import WorkSize
from clinfer.runtime.stream import Stream
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, assert_close

TOLERANCE = 1e-4
STEPS, TAPS = 3, 2
ROWS = (6, 5, 4)
"""Of tiles that kernels have."""


@pytest.fixture(autouse=True)
def able(engine: Engine) -> None:
    device = engine.capabilities
    reason = float_tiles(device).recipe.refusal(device) or narrow_only(device)
    if reason:
        pytest.skip(reason)
    assert tuple(float_tiles(device).speeds) == ROWS


def _network(engine: Engine, model: ov.Model, kernel: str) -> Network:
    """The network of a model; `kernel` is forced for the layer named "tiled"."""
    network = network_of(engine, model, BuildOptions({"tiled": ("", kernel)}))
    assert kernel in {implementation.name for node in network.program.nodes for implementation in node.implementations}
    return network


def _random(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.uniform(-1, 1, shape).astype(np.float32)


# A kernel that adds products to a tile while sixteen vectors of floats are alive, and tells of both; with HALF only the
# first half of the last step. The sums begin with the number of their row, or all with 1, the first's.
_TILE = """
kernel void tile(const global float* left, const global float* right, const global long* places,
                 const global float* given, global float* held, global float* sums) {
    float16 vectors[16];
    #pragma unroll
    for (int i = 0; i < 16; ++i) vectors[i] = sqrt(vload16(i, given));
    FRAME(frame);
    ulong taps[TAPS * TILE_ROWS];
    for (int i = 0; i < TAPS * TILE_ROWS; ++i) taps[i] = places[i];
    for (int i = 0; i < 8; ++i) frame[ZEROS + i] = 0;
    for (int i = 0; i < TILE_ROWS * TILE_VECTORS; ++i) vstore8((float8)(1 + i / TILE_VECTORS), i, frame_sums(frame));
    frame[OTHER_BYTES] = STEPS * TAPS * 1024;
    frame[HALF_AT] = HALF;
    frame[FIRST_BEGINS] = BEGINS;
    frame[LEFT_AT] = (ulong)left;
    frame[RIGHT_AT] = (ulong)right;
    frame[LATER_AT] = (ulong)right;
    frame[MORE_LATER] = LINES_OF_SHARE(LATER_SHARES(LATER)) - 2;
    frame[STEP_BYTES] = TAPS * TILE_ROWS * 64;
    frame[STEP_COUNT] = STEPS;
    frame[TAPS_AT] = (ulong)taps;
    frame[TAPS_END] = (ulong)(taps + TAPS * TILE_ROWS);
    ADD_PRODUCTS(frame);
    #pragma unroll
    for (int i = 0; i < 16; ++i) vstore16(vectors[i], i, held);
    for (int i = 0; i < TILE_ROWS * TILE_VECTORS; ++i) vstore8(vload8(i, frame_sums(frame)), i, sums);
}"""


@pytest.mark.parametrize(("rows", "vectors", "joined"), [
    *((rows, 2, joined) for rows in range(1, 7) for joined in (False, True)), (4, 3, False)])
@pytest.mark.parametrize("half, first_begins", [(False, False), (False, True), (True, False)])
def test_vectors_survive_the_assembly(engine: Engine, stream: Stream, rows: int, vectors: int, half: bool,
                                      first_begins: bool, joined: bool, rng: np.random.Generator) -> None:
    """Rows in any order, some of them zeros: left [step, place, 16], right [block, step, tap, 16, 16], of whose second
    block tiles of three vectors take half."""
    blocks, columns = vectors - 1, 8 * vectors
    left, right = _random(rng, STEPS, TAPS * rows, 16), _random(rng, blocks, STEPS, TAPS, 16, 16)
    places = rng.permutation(TAPS * rows).reshape(TAPS, rows)
    is_absent = rng.random(places.shape) < 0.3
    given = rng.uniform(1, 2, (16, 16)).astype(np.float32)
    packed = np.stack([right, _random(rng, *right.shape)], -2) if joined else right
    taken = [left, packed, np.where(is_absent, -1, places * 64), given, np.zeros(256, np.float32),
             np.zeros(rows * columns, np.float32)]
    defines = {"VECTOR_FLOATS": 8, "TILES_OF_FLOATS": 1, "PANELS_JOINED": int(joined), "TILE_ROWS": rows, "TAPS": TAPS,
               "STEPS": STEPS, "HALF": int(half), "BEGINS": int(first_begins), "TILE_VECTORS": vectors,
               "ASKS_FOR_MORE": int(rng.integers(2)), "LATER": int(rng.choice([1, 5, 100]))}
    source = "\n".join([common_source(), *(f"#define {name} {value}" for name, value in defines.items()),
                        kernel_source("clinfer.ops.shared", "float_products.h"), _TILE])
    kernel = engine.create_kernel(engine.build_program(source), "tile")
    buffers = [engine.allocate_bytes(values.nbytes) for values in taken]
    for index, (buffer, values) in enumerate(zip(buffers, taken, strict=True)):
        stream.write(buffer, np.ascontiguousarray(values).reshape(-1))
        kernel.set_buffer(index, buffer)
    stream.enqueue(kernel, WorkSize((1,), (1,)))
    held, sums = (stream.read(buffer).view(np.float32) for buffer in buffers[4:])
    assert_close(held, np.sqrt(given).reshape(-1), 1e-6)
    if half:
        left[-1, :, 8:] = 0
    seen = np.where(is_absent[..., None], 0, left[:, places].astype(np.float64))
    begins = np.ones((rows, 1)) if first_begins else 1.0 + np.arange(rows)[:, None]
    side_by_side = np.concatenate(list(right), -1)[..., :columns]
    assert_close(sums.reshape(rows, columns), begins + np.einsum("strk,stkc->rc", seen, side_by_side), 1e-5)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tile", ROWS)
def test_convolutions(engine: Engine, tile: int, seed: int, rng: np.random.Generator) -> None:
    """relu(conv(x) + bias) + other of random filters, strides, dilations, pads and groups, of pictures of any size."""
    from openvino import opset13 as op
    axes, groups = (3, 1) if seed == 0 else (1, 1) if seed == 1 else (2, 2 if seed == 2 else 1)
    inputs = 16 if groups > 1 else 8 * int(rng.integers(1, 6))
    outputs = 32 if groups > 1 else int(rng.choice([17, 24, 40])) if seed == 4 else int(rng.integers(1, 60))
    filters = tuple(int(rng.integers(1, 4)) for _ in range(axes)) if seed < 5 else (1,) * axes
    strides, dilations, begins, ends = ([int(rng.integers(low, high)) for _ in range(axes)]
                                        for low, high in ((1, 3), (1, 3), (0, 3), (0, 3)))
    shape = (groups, outputs, inputs, *filters) if groups > 1 else (outputs, inputs, *filters)
    weights, bias = _random(rng, *shape), _random(rng, 1, groups * outputs, *(1,) * axes)

    def model() -> ov.Model:
        x = op.parameter([-1, groups * inputs, *(-1,) * axes], name="x")
        make = op.group_convolution if groups > 1 else op.convolution
        product = make(x, op.constant(weights), strides, begins, ends, dilations, name="tiled")
        result = op.relu(op.add(product, op.constant(bias)))
        return ov.Model([op.add(result, op.reduce_max(result, op.constant([1]), True))], [x], "convolution")

    network, oracle = _network(engine, model(), f"convolution_pixels_{tile}"), CpuPlugin(model())
    for _ in range(3):
        least = [(size - 1) * dilation + 1 for size, dilation in zip(filters, dilations, strict=True)]
        sizes = [int(rng.integers(low, low + 12)) for low in least]
        given = _random(rng, int(rng.integers(1, 3)), groups * inputs, *sizes)
        assert_close(execute(network, [given])[0], oracle([given])[0], TOLERANCE, f"{given.shape}")


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("tile", ROWS)
def test_filters_that_reach_far_out_of_the_picture(engine: Engine, tile: int, axes: int,
                                                   rng: np.random.Generator) -> None:
    """Elements of the filter that meet no data: the first, the last, and all of them."""
    from openvino import opset13 as op
    inputs, outputs = 8 * int(rng.integers(2, 6)), int(rng.choice([16, 24, 37]))
    filters, dilations = (3,) * axes, [int(rng.integers(3, 12)) for _ in range(axes)]
    begins, ends = ([int(rng.integers(0, 3 * each)) for each in dilations] for _ in range(2))
    ends = [max(end, 2 * each - begin) for end, each, begin in zip(ends, dilations, begins, strict=True)]
    weights, bias = _random(rng, outputs, inputs, *filters), _random(rng, 1, outputs, *(1,) * axes)

    def model() -> ov.Model:
        x = op.parameter([-1, inputs, *(-1,) * axes], name="x")
        product = op.convolution(x, op.constant(weights), [1] * axes, begins, ends, dilations, name="tiled")
        return ov.Model([op.relu(op.add(product, op.constant(bias)))], [x], "far")

    network, oracle = _network(engine, model(), f"convolution_pixels_{tile}"), CpuPlugin(model())
    for high in (2, 8, 14):
        given = _random(rng, int(rng.integers(1, 3)), inputs, *(int(rng.integers(1, high)) for _ in filters))
        assert_close(execute(network, [given])[0], oracle([given])[0], TOLERANCE, f"{given.shape}")


@pytest.mark.parametrize("tile", ROWS)
def test_convolutions_of_copied_data(engine: Engine, tile: int, rng: np.random.Generator) -> None:
    """Channels that do not fill half a block."""
    from openvino import opset13 as op
    inputs, outputs = 16 * int(rng.integers(0, 3)) + int(rng.integers(1, 8)), int(rng.integers(1, 60))
    weights = _random(rng, outputs, inputs, 3, 2)

    def model() -> ov.Model:
        x = op.parameter([-1, inputs, -1, -1], name="x")
        product = op.convolution(x, op.constant(weights), [1, 2], [1, 0], [1, 1], [1, 1], name="tiled")
        return ov.Model([op.relu(product)], [x], "copied")

    network, oracle = _network(engine, model(), f"convolution_f32_{tile}"), CpuPlugin(model())
    for sizes in ((7, 9), (1, 14), (int(rng.integers(2, 30)), int(rng.integers(2, 30)))):
        given = _random(rng, 2, inputs, *sizes)
        assert_close(execute(network, [given])[0], oracle([given])[0], TOLERANCE, f"{given.shape}")


@pytest.mark.parametrize(("filters", "strides", "dilations"), [
    ((3, 3), (2, 2), (1, 1)), ((7, 7), (2, 1), (1, 1)), ((1, 1), (1, 1), (1, 1)), ((2, 16), (2, 3), (1, 1)),
    ((3, 2), (1, 1), (2, 3)), ((5,), (1,), (1,)), ((2, 3, 3), (1, 2, 2), (2, 1, 1)), ((4, 4), (4, 4), (1, 1)),
    ((20, 20), (20, 20), (1, 1)), ((2, 33), (1, 1), (1, 1)), ((400,), (3,), (1,)), ((17, 17), (2, 3), (1, 2))])
@pytest.mark.parametrize("tile", ROWS)
def test_convolutions_of_planar_data(engine: Engine, tile: int, filters: tuple[int, ...], strides: tuple[int, ...],
                                     dilations: tuple[int, ...], rng: np.random.Generator) -> None:
    """Of few channels, with any number of values in the last step."""
    from openvino import opset13 as op
    axes, inputs, outputs = len(filters), int(rng.integers(1, 5)), int(rng.integers(1, 60))
    weights, bias = _random(rng, outputs, inputs, *filters), _random(rng, 1, outputs, *(1,) * axes)
    begins, ends = ([int(rng.integers(0, 3)) for _ in filters] for _ in range(2))

    def model() -> ov.Model:
        x = op.parameter([-1, inputs, *(-1,) * axes], name="x")
        product = op.convolution(x, op.constant(weights), strides, begins, ends, dilations, name="tiled")
        return ov.Model([op.relu(op.add(product, op.constant(bias)))], [x], "planar")

    network, oracle = _network(engine, model(), f"convolution_planar_f32_{tile}"), CpuPlugin(model())
    least = [(size - 1) * dilation + 1 for size, dilation in zip(filters, dilations, strict=True)]
    for more in (int(rng.integers(8, 30)), 0, int(rng.integers(30, 60))):
        given = _random(rng, int(rng.integers(1, 3)), inputs, *(low + more for low in least))
        assert_close(execute(network, [given])[0], oracle([given])[0], TOLERANCE, f"{given.shape}")


def _transposed(data: np.ndarray, weights: np.ndarray, strides: list[int], dilations: list[int], begins: list[int],
                sizes: tuple[int, ...]) -> np.ndarray:
    """Element i of data [B, I, ...] adds its products with weights [I, O, ...] to the outputs i * stride + k * dilation
    - begin."""
    filters = weights.shape[2:]
    full = np.zeros((len(data), weights.shape[1], *(
        max((size - 1) * stride + (of - 1) * dilation + 1, begin + wanted) for size, of, stride, dilation, begin, wanted
        in zip(data.shape[2:], filters, strides, dilations, begins, sizes, strict=True))))
    for at in np.ndindex(*filters):
        places = tuple(slice(k * dilation, k * dilation + (size - 1) * stride + 1, stride) for k, dilation, size, stride
                       in zip(at, dilations, data.shape[2:], strides, strict=True))
        full[(slice(None), slice(None), *places)] += np.einsum("bi...,io->bo...", data.astype(np.float64),
                                                               weights[(slice(None), slice(None), *at)])
    return full[(slice(None), slice(None), *(slice(begin, begin + size) for begin, size in zip(
        begins, sizes, strict=True)))]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tile", ROWS)
def test_transposed_convolutions(engine: Engine, tile: int, seed: int, rng: np.random.Generator) -> None:
    """relu(deconv(x) + bias) + other of random filters, strides above and below them, dilations, pads and groups."""
    from openvino import opset13 as op
    axes, groups = (3, 1) if seed == 0 else (1, 1) if seed == 1 else (2, 2 if seed == 2 else 1)
    inputs = 16 if groups > 1 else 8 * int(rng.integers(1, 6))
    outputs = 32 if groups > 1 else int(rng.choice([17, 24, 40])) if seed == 4 else int(rng.integers(1, 60))
    filters, strides, dilations, begins, ends, more = (
        [int(rng.integers(low, high)) for _ in range(axes)]
        for low, high in ((1, 5), (1, 4), (1, 3), (0, 3), (0, 3), (0, 2)))
    shape = (groups, inputs, outputs, *filters) if groups > 1 else (inputs, outputs, *filters)
    weights, bias = _random(rng, *shape), _random(rng, 1, groups * outputs, *(1,) * axes)
    x = op.parameter([-1, groups * inputs, *(-1,) * axes], name="x")
    make = op.group_convolution_backprop_data if groups > 1 else op.convolution_backprop_data
    product = make(x, op.constant(weights), strides, None, begins, ends, dilations, "explicit", more, name="tiled")
    result = op.relu(op.add(product, op.constant(bias)))
    network = _network(engine, ov.Model([op.add(result, op.reduce_max(result, op.constant([1]), True))], [x],
                                        "deconvolution"), f"deconvolution_pixels_{tile}x1")
    for low in (5, 6, 12):
        given = _random(rng, int(rng.integers(1, 3)), groups * inputs, *(int(rng.integers(low, 16)) for _ in filters))
        got, = execute(network, [given])
        parts = zip(np.split(given, groups, 1), weights if groups > 1 else weights[None], strict=True)
        wide = np.concatenate([_transposed(*part, strides, dilations, begins, got.shape[2:]) for part in parts], 1)
        wide = np.maximum(wide + bias, 0)
        assert_close(got.astype(np.float64), wide + wide.max(1, keepdims=True), TOLERANCE, f"{given.shape}")


# Tiles that lie apart, with sums that begin with what is there or with 0, while sixteen vectors of floats are alive.
_STRIPS = """
kernel void strips(const global float* left, const global float* right, const global float* given, global float* held,
                   global float* sums) {
    float16 vectors[16];
    #pragma unroll
    for (int i = 0; i < 16; ++i) vectors[i] = sqrt(vload16(i, given));
    STRIP_FRAME(frame);
    frame[STRIP_STEPS] = TEST_STEPS;
    frame[STRIP_TILES] = TEST_TILES;
    frame[ROWS_SKIPPED] = frame[SUMS_SKIPPED] = 64;
    frame[BEGINS_WITH_SUMS] = BEGINS;
    ADD_STRIPS(frame, left, right, sums);
    #pragma unroll
    for (int i = 0; i < 16; ++i) vstore16(vectors[i], i, held);
}"""


@pytest.mark.parametrize("tiles", [1, 3])
@pytest.mark.parametrize("begins", [False, True])
def test_vectors_survive_strips(engine: Engine, stream: Stream, tiles: int, begins: bool,
                                rng: np.random.Generator) -> None:
    """Left [tile, step, row, 16] and sums [tile, row, column], with 16 numbers behind each tile; right [step, 16, 16].
    What lies between tiles and behind them stays."""
    left, right = _random(rng, tiles, STEPS * 96 + 16), _random(rng, STEPS * 16, 16)
    given, before = rng.uniform(1, 2, (16, 16)).astype(np.float32), _random(rng, tiles, 96 + 16)
    taken = [left, right, given, np.zeros(256, np.float32), before]
    defines = {"TEST_STEPS": STEPS, "TEST_TILES": tiles, "BEGINS": int(begins)}
    source = "\n".join([*map(standalone_source, OPERANDS), common_source(),
                        *(f"#define {name} {value}" for name, value in defines.items()),
                        kernel_source("clinfer.ops.sdpa", "sdpa_floats.cl"), _STRIPS])
    kernel = engine.create_kernel(engine.build_program(source), "strips")
    buffers = [engine.allocate_bytes(values.nbytes) for values in taken]
    for index, (buffer, values) in enumerate(zip(buffers, taken, strict=True)):
        stream.write(buffer, np.ascontiguousarray(values).reshape(-1))
        kernel.set_buffer(index, buffer)
    stream.enqueue(kernel, WorkSize((1,), (1,)))
    held, sums = (stream.read(buffer).view(np.float32) for buffer in buffers[3:])
    assert_close(held, np.sqrt(given).reshape(-1), 1e-6)
    rows = left[:, :-16].reshape(tiles, STEPS, 6, 16).swapaxes(1, 2).reshape(tiles, 6, -1)
    expected = rows.astype(np.float64) @ right + (before[:, :-16].reshape(tiles, 6, 16) if begins else 0)
    sums = sums.reshape(before.shape)
    assert_close(sums[:, :-16].reshape(expected.shape), expected, 1e-5)
    assert (sums[:, -16:] == before[:, -16:]).all()


@pytest.mark.parametrize("tiles", [4, 1])
@pytest.mark.parametrize("masked", ["", "causal", "added"])
@pytest.mark.parametrize(("depth", "width"), [(64, 64), (20, 40), (9, 128)])
def test_attention(engine: Engine, depth: int, width: int, masked: str, tiles: int, rng: np.random.Generator) -> None:
    """Of any number of queries and keys, in one network."""
    from openvino import opset13 as op
    inputs = [op.parameter([-1, 3, -1, size]) for size in (depth, depth, width)]
    if masked == "added":
        inputs.append(op.parameter([-1, 1, -1, -1]))
    attention = op.scaled_dot_product_attention(*inputs, causal=masked == "causal", name="tiled")
    network = _network(engine, ov.Model([attention], inputs, "attention"), f"sdpa_f32_{tiles}")
    for batch, queries, keys in ((2, 30, 30), (1, 1, 200), (1, 129, 64), (2, 5, 3), (1, 15, 129)):
        keys = queries if masked == "causal" else keys
        given = [3 * _random(rng, batch, 3, rows, size)
                 for rows, size in ((queries, depth), (keys, depth), (keys, width))]
        if masked == "added":
            given.append(_random(rng, batch, 1, queries, keys))
        query, key, value, *added = (x.astype(np.float64) for x in given)
        scores = query @ key.swapaxes(-1, -2) / np.sqrt(depth) + (added[0] if added else 0)
        if masked == "causal":
            scores = np.where(np.tri(queries, keys, dtype=bool), scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        expected = weights / weights.sum(-1, keepdims=True) @ value
        assert_close(execute(network, given)[0].astype(np.float64), expected, TOLERANCE, f"{queries} by {keys}")
