"""Products and attention of bf16 pairs on CPUs: every tile, over shapes that leave borders, and what compilers hold in
registers."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.frontend.transformations import prepare
from clinfer.kernels.jitter import common_source, kernel_source
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.matmul.kernels.floats import ROWS
from clinfer.ops.shared.float_products import rows_refusal
from clinfer.program.options import BuildOptions
from clinfer.program.program import Program
from clinfer.runtime.engine import Engine
from clinfer.runtime.launches import WorkSize
from clinfer.runtime.stream import Stream
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, assert_close, to_bf16

TOLERANCE = 2e-2
"""Of the output's scale; inputs and results are rounded to bf16, sums are of floats."""
BF16 = ElementType.of("bf16")
STEPS, TAPS = 3, 2


def _skip_unless_able(engine: Engine, rows: int = 1) -> None:
    if not engine.capabilities.bf16_products:
        pytest.skip("the device multiplies no pairs of bf16")
    if rows_refusal(engine.capabilities, rows):
        pytest.skip("the device has no tile registers")


def _network(engine: Engine, model: ov.Model, kernel: str = "", precision: str = "bf16") -> Network:
    """The network of a model that computes in bf16; `kernel` is forced for the layer named "tiled"."""
    options = BuildOptions({"tiled": ("", kernel)} if kernel else {})
    topology = to_topology(prepare(model, precision)).topology
    program = compile_topology(engine, topology, OpenVinoShapeInference(), options)
    return Network(program, engine.create_stream(), OpenVinoShapeInference())


def _kernels(program: Program) -> set[str]:
    return {implementation.name for node in program.nodes for implementation in node.implementations}


def _random(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return to_bf16(rng.uniform(-1, 1, shape).astype(np.float32))


def _tile_source(rows: int, half: bool, first_begins: bool, later: int) -> str:
    """A kernel that adds products to a tile while sixteen vectors of floats are alive, and tells of both; with `half`
    only the first half of the last step. The sums begin with the number of their row, or all with 1, the first's.
    `later`: among how many tiles what comes next is shared, 0 for none."""
    tiles = kernel_source("clinfer.ops.shared", "float_products.h")
    defines = f"#define TILE_ROWS {rows}\n#define HALF {int(half)}\n#define BEGINS {int(first_begins)}"
    defines += f"\n#define ASKS_FOR_MORE {int(later > 0)}\n#define LATER {later}"
    return "\n".join([common_source(), defines, tiles, """
kernel void tile(const global ushort* left, const global ushort* right, const global float* given, global float* held,
                 global float* sums) {
    float16 vectors[16];
    #pragma unroll
    for (int i = 0; i < 16; ++i) vectors[i] = sqrt(vload16(i, given));
    FRAME(frame);
    ulong taps[2] = {32, 0};
    for (int i = 0; i < 2 * TILE_ROWS; ++i) vstore16((float16)(1 + i / 2), i, frame_sums(frame));
    frame[HALF_AT] = HALF;
    frame[FIRST_BEGINS] = BEGINS;
    frame[LEFT_AT] = (ulong)left;
    frame[RIGHT_AT] = (ulong)right;
    frame[OTHER_BYTES] = 3 * 2 * 512;
    if (LATER) {
        frame[LATER_AT] = (ulong)right;
        frame[MORE_LATER] = LINES_OF_SHARE(LATER_SHARES(LATER)) - 2;
    }
    frame[ROW_BYTES] = 3 * 64;
    frame[STEP_BYTES] = 64;
    frame[STEP_COUNT] = 3;
    frame[TAPS_AT] = (ulong)taps;
    frame[TAPS_END] = (ulong)(taps + 2);
    ADD_PRODUCTS(frame);
    END_TILES();
    #pragma unroll
    for (int i = 0; i < 16; ++i) vstore16(vectors[i], i, held);
    for (int i = 0; i < 2 * TILE_ROWS; ++i) vstore16(vload16(i, frame_sums(frame)), i, sums);
}"""])


@pytest.mark.parametrize("half, first_begins", [(False, False), (False, True), (True, False)])
@pytest.mark.parametrize("rows", [1, 7, 14, 16, 32])
def test_vectors_survive_the_assembly(engine: Engine, stream: Stream, rows: int, half: bool, first_begins: bool,
                                      rng: np.random.Generator) -> None:
    """Steps of two taps, the second one read first: left [rows, step, tap, 16], right [32, step, tap, 16]."""
    _skip_unless_able(engine, rows)
    if half and rows > 14:
        pytest.skip("these tiles multiply whole steps")
    left, right = _random(rng, rows, STEPS, TAPS, 16), _random(rng, 32, STEPS, TAPS, 16)
    given = rng.uniform(1, 2, (16, 16)).astype(np.float32)
    packed = right[:, :, ::-1].reshape(2, 16, STEPS, TAPS, 8, 2).transpose(0, 2, 3, 4, 1, 5)
    taken = [BF16.encode(left.reshape(-1)), BF16.encode(packed.reshape(-1)), given.reshape(-1),
             np.zeros(256, np.float32), np.zeros(rows * 32, np.float32)]
    source = _tile_source(rows, half, first_begins, int(rng.choice([0, 1, 5, 100])))
    kernel = engine.create_kernel(engine.build_program(source), "tile")
    buffers = [engine.allocate_bytes(values.nbytes) for values in taken]
    for index, (buffer, values) in enumerate(zip(buffers, taken, strict=True)):
        stream.write(buffer, values)
        kernel.set_buffer(index, buffer)
    stream.enqueue(kernel, WorkSize((1,), (1,)))
    held, sums = (stream.read(buffer).view(np.float32) for buffer in buffers[3:])
    assert_close(held, np.sqrt(given).reshape(-1), 1e-6)
    if half:
        left[:, -1, :, 8:] = 0
    begins = np.ones((rows, 1)) if first_begins else 1.0 + np.arange(rows)[:, None]
    expected = begins + left.reshape(rows, -1).astype(np.float64) @ right.reshape(32, -1).T
    assert_close(sums.reshape(rows, 32), expected, 1e-5)


@pytest.mark.parametrize("along_k", [False, True])
@pytest.mark.parametrize("tile", ROWS)
def test_products(engine: Engine, tile: int, along_k: bool, rng: np.random.Generator) -> None:
    """relu(x @ w + bias) + other, for any number of rows, in one network."""
    _skip_unless_able(engine, tile)
    from openvino import opset13 as op
    depth, columns = (16 * int(rng.integers(1, 30)), int(rng.integers(1, 40))) if along_k else (
        int(rng.integers(1, 600)), 32 * int(rng.integers(1, 4)))
    weights = _random(rng, *((columns, depth) if along_k else (depth, columns)))
    bias, batches = _random(rng, columns), int(rng.integers(1, 4))
    x, other = op.parameter([batches, -1, depth]), op.parameter([batches, -1, columns])
    product = op.add(op.matmul(x, op.constant(weights), False, along_k, name="tiled"), op.constant(bias))
    network = _network(engine, ov.Model([op.add(op.relu(product), other)], [x, other], "product"),
                       f"matmul_bf16_{tile}")
    assert f"matmul_bf16_{tile}" in _kernels(network.program)
    for rows in (int(rng.integers(2, 50)), 1, 14, 0):
        left, added = _random(rng, batches, rows, depth), _random(rng, batches, rows, columns)
        wide = left.astype(np.float64) @ (weights.T if along_k else weights) + bias
        assert_close(execute(network, [left, added])[0], np.maximum(wide, 0) + added, TOLERANCE)


def test_a_convolution_without_channels(engine: Engine) -> None:
    """The bias is all that there is, inside and at the border."""
    _skip_unless_able(engine)
    from openvino import opset13 as op
    x, bias = op.parameter([-1, 0, -1, -1]), np.arange(20, dtype=np.float32).reshape(1, 20, 1, 1)
    ones = ([1, 1],) * 4
    product = op.convolution(x, op.constant(np.zeros((20, 0, 3, 3), np.float32)), *ones, name="tiled")
    network = _network(engine, ov.Model([op.add(product, op.constant(bias))], [x], "empty"), "convolution_bf16_7")
    found, = execute(network, [np.zeros((2, 0, 4, 15), np.float32)])
    np.testing.assert_array_equal(found, np.broadcast_to(bias, (2, 20, 4, 15)))


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("strides", [(1, 1), (2, 2), (3, 1), (1, 2)])
def test_convolutions_of_copied_data(engine: Engine, strides: tuple[int, int], groups: int,
                                     rng: np.random.Generator) -> None:
    """relu(conv(x, w) + bias), and the highest of its channels added, of any filter, in one network."""
    _skip_unless_able(engine, 32)
    from openvino import opset13 as op
    inputs, outputs = (16 * int(rng.integers(1, 5)) if groups > 1 else int(rng.integers(1, 100)) for _ in range(2))
    sizes, dilations = rng.integers(1, 5, 2).tolist(), rng.integers(1, 3, 2).tolist()
    if strides == (1, 1):
        sizes[0] = 3
    begins, ends = ([int(rng.integers(0, size + 1)) for size in sizes] for _ in range(2))
    make, split = (op.group_convolution, (groups,)) if groups > 1 else (op.convolution, ())
    weights, bias = _random(rng, *split, outputs, inputs, *sizes), _random(rng, 1, groups * outputs, 1, 1)

    def model() -> ov.Model:
        x = op.parameter([-1, groups * inputs, -1, -1])
        product = make(x, op.constant(weights), strides, begins, ends, dilations, name="tiled")
        added = op.relu(op.add(product, op.constant(bias)))
        return ov.Model([op.add(added, op.reduce_max(added, op.constant([1]), True))], [x], "convolution")

    network, oracle = _network(engine, model(), "convolution_bf16_copied"), CpuPlugin(model())
    assert "convolution_bf16_copied" in _kernels(network.program)
    for _ in range(4):
        picture = _picture(rng, sizes, dilations, begins, ends)
        data = _random(rng, int(rng.integers(1, 3)), groups * inputs, *picture)
        assert_close(execute(network, [data])[0], oracle([data])[0], TOLERANCE)


@pytest.mark.parametrize("strides", [(1, 1), (2, 2), (3, 1)])
@pytest.mark.parametrize("channels", [1, 3, 8])
def test_convolutions_of_copied_windows(engine: Engine, channels: int, strides: tuple[int, int],
                                        rng: np.random.Generator) -> None:
    """The same of planar data; beside a window of infinite numbers all is finite."""
    _skip_unless_able(engine, 32)
    from openvino import opset13 as op
    sizes, dilations = rng.integers(1, 10, 2).tolist(), rng.integers(1, 3, 2).tolist()
    begins, ends = ([int(rng.integers(0, size + 1)) for size in sizes] for _ in range(2))
    outputs = int(rng.integers(1, 70))
    weights, bias = _random(rng, outputs, channels, *sizes), _random(rng, 1, outputs, 1, 1)

    def model() -> ov.Model:
        x = op.parameter([-1, channels, -1, -1])
        product = op.convolution(x, op.constant(weights), strides, begins, ends, dilations, name="tiled")
        return ov.Model([op.sigmoid(op.add(product, op.constant(bias)))], [x], "convolution")

    network, oracle = _network(engine, model(), "convolution_bf16_windows"), CpuPlugin(model())
    assert "convolution_bf16_windows" in _kernels(network.program)
    for number in range(4):
        picture = _picture(rng, sizes, dilations, begins, ends)
        data = _random(rng, int(rng.integers(1, 3)), channels, *picture)
        if number == 3:
            data[..., -1] = np.inf
        wanted = oracle([data])[0]
        found = execute(network, [data])[0]
        is_known = np.isfinite(wanted) & (np.ones_like(wanted, bool) if number < 3 else _sees_no_end(
            wanted.shape[-1], strides[1], begins[1], (sizes[1] - 1) * dilations[1], picture[1]))
        assert_close(found[is_known], wanted[is_known], TOLERANCE)


def _picture(rng: np.random.Generator, *filters: list[int]) -> list[int]:
    """The sizes of data that give results, for the sizes, dilations, begins and ends of a filter along each axis."""
    return [max((size - 1) * dilation + 1 - begin - end, 1) + int(rng.integers(0, 40))
            for size, dilation, begin, end in zip(*filters, strict=True)]


def _sees_no_end(width: int, stride: int, begin: int, reach: int, size: int) -> np.ndarray:
    """Which pixels of a row of results see none behind the last but one of the data."""
    return np.arange(width) * stride - begin + reach < size - 1


@pytest.mark.parametrize("precision, kernel, tolerance", [("bf16", "sdpa_bf16", TOLERANCE),
                                                          ("f32", "sdpa_f32_wide", 1e-5)])
@pytest.mark.parametrize("masked", ["", "causal", "added", "boolean"])
@pytest.mark.parametrize(("depth", "width"), [(64, 64), (20, 40)])
def test_attention(engine: Engine, depth: int, width: int, masked: str, precision: str, kernel: str, tolerance: float,
                   rng: np.random.Generator) -> None:
    """Of any number of queries and keys, in one network; a row of which nothing is seen becomes 0."""
    _skip_unless_able(engine)
    from openvino import opset13 as op
    inputs = [op.parameter([-1, 3, -1, size]) for size in (depth, depth, width)]
    if masked in ("added", "boolean"):
        inputs.append(op.parameter([-1, 1, -1, -1], ov.Type.boolean if masked == "boolean" else ov.Type.f32))
    attention = op.scaled_dot_product_attention(*inputs, causal=masked == "causal", name="tiled")
    network = _network(engine, ov.Model([attention], inputs, "attention"), kernel, precision)
    assert kernel in _kernels(network.program)
    for batch, queries, keys in ((2, 30, 30), (1, 1, 200), (1, 129, 64), (2, 5, 3), (1, 15, 129), (1, 40, 530)):
        keys = queries if masked == "causal" else keys
        given = [to_bf16(3 * _random(rng, batch, 3, rows, size))
                 for rows, size in ((queries, depth), (keys, depth), (keys, width))]
        seen = np.tri(queries, keys, dtype=bool) if masked == "causal" else np.ones((queries, keys), bool)
        added = np.zeros((queries, keys), np.float32)
        if masked == "boolean":
            seen = rng.random((batch, 1, queries, keys)) < 0.7
            seen[..., 0, :] = False
            given.append(seen)
        elif masked == "added":
            added = _random(rng, batch, 1, queries, keys)
            given.append(added)
        expected = _attention(*(x.astype(np.float64) for x in given[:3]), seen, added)
        assert_close(execute(network, given)[0].astype(np.float64), expected, tolerance, f"{queries} by {keys}")


def _attention(query: np.ndarray, key: np.ndarray, value: np.ndarray, seen: np.ndarray,
               added: np.ndarray) -> np.ndarray:
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1]) + added
    weights = np.where(seen, np.exp(scores - scores.max()), 0)
    return weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300) @ value


def test_a_device_without_pairs_computes_in_float(engine: Engine, rng: np.random.Generator) -> None:
    """The precision is bf16 all the same: tensors are, and results agree within the tolerance."""
    from openvino import opset13 as op
    plain = Engine(engine.device, replace(engine.capabilities, bf16_products=False))
    weights, x = _random(rng, 64, 48), op.parameter([-1, 64])
    network = _network(plain, ov.Model([op.matmul(x, op.constant(weights), False, False)], [x], "product"))
    assert not any(name.startswith("matmul_bf16") for name in _kernels(network.program))
    left = _random(rng, 20, 64)
    assert_close(execute(network, [left])[0], left.astype(np.float64) @ weights, TOLERANCE)
