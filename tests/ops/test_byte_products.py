"""Products and convolutions of data that are whole numbers of 8 bits times a step: every tile, against exact sums."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.grid import Grid
from clinfer.base.quantisation import Quantisation
from clinfer.base.shape import ANY
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.kernels.jitter import common_source, kernel_source
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.convert import Convert
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.matmul import MatMul
from clinfer.ops.quantised_convolution import QuantisedConvolution
from clinfer.ops.shared.byte_products import TILES, byte_tiles, tile_refusal
from clinfer.ops.shared.float_products import IN_REGISTERS
from clinfer.ops.shared.tile_runs import shared_panels
from clinfer.program.options import BuildOptions
from clinfer.program.passes.note_data_grids import MOST_DEPTH
from clinfer.runtime.engine import Engine
from clinfer.runtime.launches import WorkSize
from clinfer.runtime.stream import Stream
from clinfer.topology import Topology
from tests.ops.case_runner import execute
from tests.program.building import constant, given

STEP = np.float32(0.03)
F32 = 1e-6
"""Sums are exact; what is left is rounding of the last operations in f32."""


def _given(whole: np.ndarray, zero_point: int) -> np.ndarray:
    """The data of these whole numbers, of which the first becomes the lowest, given as NaN."""
    whole.reshape(-1)[:1] = -zero_point
    data = (whole * STEP).astype(np.float32)
    data.reshape(-1)[:1] = np.nan
    return data


@pytest.fixture
def engine(engine: Engine) -> Engine:
    """Each CPU's in turn."""
    if engine.capabilities.device_type != "CPU":
        pytest.skip("made for CPUs")
    return engine


def _skip_unless_able(engine: Engine, tile: int) -> None:
    refusal = tile_refusal(engine.capabilities, tile)
    if refusal:
        pytest.skip(refusal)


def _check(engine: Engine, rng: np.random.Generator, shape: tuple[int, int], tile: int, zero_point: int = 128,
           transpose: bool = False, rows: tuple[int, ...] = (1, 30, 3, 0, 15), stored: bool = False) -> None:
    """A product with a bias and a fused addition, at extreme values too, for these numbers of rows in turn; `stored`:
    the data is stored as bytes before."""
    depth, columns = shape
    weights = rng.integers(-128, 128, shape).astype(np.int8)
    weights[:, 0] = 127
    scale = rng.uniform(0.5, 1.5, (1, columns)).astype(np.float32)
    bias = rng.standard_normal(columns).astype(np.float32)
    start = (-zero_point * weights.sum(0, dtype=np.int64)).astype(np.int32)[None]
    constants = [constant("w", weights.T.copy() if transpose else weights), constant("scale", scale),
                 constant("grid", np.array([[1 / STEP, zero_point, STEP]], np.float32)), constant("start", start),
                 constant("bias", bias)]
    bytes_of = Convert("bytes", ("x",), destination_type=ElementType.on(Grid(float(STEP), zero_point)).name)
    product = MatMul("y", ("bytes" if stored else "x", *(c.id for c in constants)), transpose_b=transpose,
                     quantisation=Quantisation(2), data_grid=3)
    topology = Topology(given("x", 2, ANY, depth), *([bytes_of] if stored else []), *constants, product,
                        given("other", 2, ANY, columns), Eltwise("sum", ("y", "other"), mode="Add"),
                        Eltwise("high", ("sum",), mode="Relu"))
    options = BuildOptions({"y": ("", f"matmul_bytes_{tile}")})
    program = compile_topology(engine, topology, OpenVinoShapeInference(), options)
    network = Network(program, engine.create_stream(), OpenVinoShapeInference())
    for count in rows:
        whole = rng.integers(0, 256, (2, count, depth)) - zero_point
        whole[:, :1] = 255 - zero_point
        whole[:, 1:2] = -zero_point
        other = rng.standard_normal((2, count, columns)).astype(np.float32)
        found, = execute(network, [_given(whole, zero_point), other])
        wanted = (whole @ weights.astype(np.int64)) * (scale.astype(np.float64) * STEP) + bias + other
        wanted = np.maximum(wanted, 0)
        assert np.abs(found - wanted).max(initial=0) <= F32 * np.abs(wanted).max(initial=1)


@pytest.mark.parametrize("tile", TILES)
def test_every_tile_is_exact(engine: Engine, rng: np.random.Generator, tile: int) -> None:
    _skip_unless_able(engine, tile)
    _check(engine, rng, (75, 41), tile, transpose=tile % 8 == 0)


@pytest.mark.parametrize("tile", [32, 16, 14, 6])
@pytest.mark.parametrize("depth", [4, 64, 196, 1088, 99])
def test_bytes_are_read_where_they_lie(engine: Engine, rng: np.random.Generator, tile: int, depth: int) -> None:
    """Any number of rows, of which a tile and a run of tiles may lack some."""
    _skip_unless_able(engine, tile)
    some = tuple(int(rows) for rows in rng.integers(1, 9 * tile, 5))
    _check(engine, rng, (depth, int(rng.integers(1, 200))), tile, rows=(tile, 1, 8 * tile + 1, *some), stored=True)


@pytest.mark.parametrize("tile", [14, 32, 6, 5])
@pytest.mark.parametrize("depth, columns, zero_point", [
    (1, 1, 0), (1030, 200, 255), (4, 33, 3), (MOST_DEPTH, 2, 0), (MOST_DEPTH, 2, 255)])
def test_borders(engine: Engine, rng: np.random.Generator, depth: int, columns: int, zero_point: int,
                 tile: int) -> None:
    """More than one step along the inner axis, several panels for one work-item, less than four of anything, sums that
    nearly leave 32 bits."""
    _skip_unless_able(engine, tile)
    _check(engine, rng, (depth, columns), tile, zero_point, rows=(29, 1))


def test_pairs_of_16_bits_are_exact(engine: Engine, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the device has better instructions."""
    if not engine.capabilities.short_products:
        pytest.skip("the device has no products of 16 bits")
    monkeypatch.setattr(engine, "capabilities", replace(engine.capabilities, byte_products=False, vector_floats=8))
    _check(engine, rng, (1043, 41), 6, zero_point=3, transpose=True, rows=(13, 1))
    _convolve(engine, rng, "convolution_bytes_5", (35, 49), (3, 3), ((1, 7, 9), (2, 4, 5)), stride=2)
    _convolve(engine, rng, "convolution_bytes_few_6", (3, 33), (7, 7), ((1, 20, 27),), stride=2)


def test_wide_vectors_of_floats_are_faster_than_pairs(engine: Engine) -> None:
    for floats, has_pairs, has_bytes, wanted in (
            (8, True, False, True), (16, True, False, False), (16, True, True, True), (8, False, False, False)):
        device = replace(engine.capabilities, vector_floats=floats, short_products=has_pairs, byte_products=has_bytes)
        assert device.multiplies_bytes == wanted == bool(byte_tiles(device).recipe.requires)


def test_without_the_instructions(engine: Engine, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "capabilities", replace(engine.capabilities, byte_products=False, short_products=False))
    _check(engine, rng, (70, 37), 4, transpose=True, rows=(1, 9))


def _convolve(engine: Engine, rng: np.random.Generator, kernel: str, channels: tuple[int, int],
              filters: tuple[int, ...], sizes: tuple[tuple[int, ...], ...], stride: int = 1, dilation: int = 1,
              zero_point: int = 100, large: bool = False, stored: bool = False) -> None:
    """A convolution with a bias, fused factors and Relu, of pictures of these sizes in turn; the border is 0; `stored`:
    the data is stored as bytes before."""
    inputs, outputs = channels
    weights = rng.integers(-128, 128, (outputs, inputs, *filters)).astype(np.int8)
    weights[0] = 127
    scale = rng.uniform(0.5, 1.5, outputs).astype(np.float32)
    bias = rng.standard_normal(outputs).astype(np.float32)
    start = (-zero_point * weights.sum(tuple(range(1, weights.ndim)), dtype=np.int64)).astype(np.int32)
    constants = [constant("w", weights), constant("scale", scale), constant("start", start),
                 constant("grid", np.array([[1 / STEP, zero_point, STEP]], np.float32)), constant("bias", bias)]
    rank, pads = len(filters), tuple(size // 2 for size in filters)
    bytes_of = Convert("bytes", ("x",), destination_type=ElementType.on(Grid(float(STEP), zero_point)).name)
    convolution = QuantisedConvolution("y", ("bytes" if stored else "x", *(c.id for c in constants)),
                                       strides=(stride,) * rank, dilations=(dilation,) * rank, pads_begin=pads,
                                       pads_end=pads)
    factors = rng.uniform(0.5, 1.5, (outputs, *(1,) * rank)).astype(np.float32)
    topology = Topology(given("x", ANY, inputs, *(ANY,) * rank), *([bytes_of] if stored else []), *constants,
                        convolution, constant("factors", factors),
                        Eltwise("scaled", ("y", "factors"), mode="Multiply"), Eltwise("high", ("scaled",), mode="Relu"))
    options = BuildOptions({"y": ("", kernel)}, large_indices=large)
    program = compile_topology(engine, topology, OpenVinoShapeInference(), options)
    network = Network(program, engine.create_stream(), OpenVinoShapeInference())
    for size in sizes:
        whole = rng.integers(0, 256, (size[0], inputs, *size[1:])) - zero_point
        found, = execute(network, [_given(whole, zero_point)])
        padded = np.pad(whole, ((0, 0), (0, 0), *((pad, pad) for pad in pads)))
        spans = tuple((length - 1) * dilation + 1 for length in filters)
        axes = tuple(range(2, 2 + rank))
        windows = np.lib.stride_tricks.sliding_window_view(padded, spans, axes)
        windows = windows[(..., *(slice(None, None, stride),) * rank, *(slice(None, None, dilation),) * rank)]
        sums = np.tensordot(windows, weights.astype(np.int64),
                            ((1, *range(2 + rank, 2 + 2 * rank)), (1, *range(2, 2 + rank))))
        wanted = np.maximum(np.moveaxis(sums * (scale.astype(np.float64) * STEP) + bias, -1, 1), 0) * factors
        assert found.shape == wanted.shape
        assert np.abs(found - wanted).max(initial=0) <= F32 * np.abs(wanted).max(initial=1)


@pytest.mark.parametrize("kernel, large", [
    ("quantised_convolution_ref", False), ("quantised_convolution_ref", True),
    *((f"convolution_bytes_{tile}", False) for tile in TILES if tile > 1), ("convolution_bytes_few_14", False),
    *((f"convolution_bytes_{kind}_{tile}", False) for kind in ("runs", "few_runs") for tile in IN_REGISTERS),
    ("convolution_bytes_few_6", False), ("convolution_bytes_few_4", False)])
def test_every_convolution_is_exact(engine: Engine, rng: np.random.Generator, kernel: str, large: bool) -> None:
    """Borders, channels that leave blocks and panels unfilled, strides; `large`: with indices of 64 bits."""
    _skip_unless_able(engine, int(kernel.rpartition("_")[2]) if "bytes" in kernel else 0)
    channels = (13, 41) if "few" in kernel else (21, 41)
    _convolve(engine, rng, kernel, channels, (3, 3), ((1, 7, 9), (2, 4, 5)), stride=2, large=large)


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("tile", IN_REGISTERS)
@pytest.mark.parametrize("kind, channels, filters, stride, dilation", [
    ("runs", (64, 40), (3, 3), 1, 1), ("runs", (21, 70), (3, 3), 2, 1), ("runs", (35, 33), (1, 1), 1, 1),
    ("runs", (16, 16), (1, 1), 2, 1), ("runs", (33, 9), (5, 2), 1, 2), ("runs", (20, 20), (4, 7), 1, 1),
    ("runs", (40, 20), (3,), 1, 1), ("few_runs", (3, 40), (7, 7), 2, 1), ("few_runs", (3, 40), (3, 3), 1, 1),
    ("few_runs", (6, 33), (2, 5), 3, 2)], ids=str)
def test_registers_read_data_where_they_lie(engine: Engine, rng: np.random.Generator, kind: str, stored: bool,
                                            tile: int, channels: tuple[int, int], filters: tuple[int, ...],
                                            stride: int, dilation: int) -> None:
    """Rows of the filter as runs or element by element, tiles that go on from row to row, and few pixels."""
    _skip_unless_able(engine, tile)
    sizes = ((1, 9, 41), (2, 13, 7), (0, 13, 7), (1, 1, 1)) if len(filters) > 1 else ((2, 50), (1, 1))
    if filters == (1, 1) or max(filters) > 3:
        sizes = sizes[:-1]
    _convolve(engine, rng, f"convolution_bytes_{kind}_{tile}", channels, filters, sizes, stride, dilation,
              zero_point=int(rng.integers(256)), stored=stored)


@pytest.mark.parametrize("kernel, channels, filters, sizes, dilation", [
    ("convolution_bytes_14", (32, 150), (1, 1), ((2, 5, 3), (0, 5, 3), (1, 1, 1)), 1),
    ("convolution_bytes_14", (400, 33), (3, 3), ((1, 3, 6),), 1),
    ("convolution_bytes_14", (16, 16), (5, 2), ((1, 9, 12),), 2),
    ("convolution_bytes_14", (17, 20), (3,), ((2, 30), (1, 1)), 1),
    ("convolution_bytes_7", (35, 20), (3, 3), ((1, 14, 21), (2, 7, 6)), 1),
    ("convolution_bytes_few_14", (3, 40), (7, 7), ((1, 20, 41), (2, 5, 3)), 1),
    ("convolution_bytes_few_7", (6, 100), (5, 2), ((1, 9, 12),), 2),
    ("convolution_bytes_few_14", (4, 32), (1, 1), ((1, 6, 9), (0, 6, 9)), 1),
    ("convolution_bytes_few_8", (15, 20), (3,), ((2, 30), (1, 1)), 1)], ids=str)
def test_convolutions_of_all_kinds(engine: Engine, rng: np.random.Generator, kernel: str, channels: tuple[int, int],
                                   filters: tuple[int, ...], sizes: tuple[tuple[int, ...], ...], dilation: int) -> None:
    """Several panels for one work-item, more than one step of copying, filters with holes, one spatial axis, few
    channels, data that tiles read where they lie; in tiles of so many pixels, or of the most below that the device
    has."""
    name, _, most = kernel.rpartition("_")
    kernel = f"{name}_{max(tile for tile in byte_tiles(engine.capabilities).rows if tile <= int(most))}"
    _convolve(engine, rng, kernel, channels, filters, sizes, dilation=dilation)


def test_a_convolution_without_the_instructions(engine: Engine, rng: np.random.Generator,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "capabilities", replace(engine.capabilities, byte_products=False, short_products=False))
    _convolve(engine, rng, "convolution_bytes_4", (18, 33), (3, 1), ((1, 5, 3),), zero_point=255)


def test_panels_are_shared_where_enough_work_is_left() -> None:
    assert shared_panels(1, 3, 2, 4) == 1 and shared_panels(10, 24, 2, 4) == 4 and shared_panels(2, 12, 4, 4) == 2
    assert shared_panels(10, 24, 2, 64) == 30 and shared_panels(0, 5, 2, 4) == 1


_LIVE = """
__attribute__((reqd_work_group_size(1, 1, 1)))
kernel void live(global const float* values, global const char* columns, global const uchar* data,
                 global float* output) {
    float16 kept[40];
    #pragma unroll
    for (int i = 0; i < 40; ++i) kept[i] = vload16(i, values) * 2.0f;
    int sums[2 * PANEL_SUMS];
    HELD rows[TILE_ROWS * 24];
    for (int i = 0; i < TILE_ROWS * 24; ++i) rows[i] = data[i];
    ulong taps[2] = {12 * HELD_BYTES, 0};
    float16 added = 0.0f;
    STATE(state);
    for (int turn = 0; turn < 3; ++turn) {
        FUNC(add_byte_products)(state, sums, AT(rows), 24 * HELD_BYTES, TILE_ROWS, taps, 2, 12 / STEP_VALUES, columns,
                                24 * PANEL_COLUMNS, 2, turn == 0);
        #pragma unroll
        for (int i = 0; i < 40; ++i) kept[i] = kept[i] * 0.5f + (float16)(turn + i);
    }
    #pragma unroll
    for (int i = 0; i < 40; ++i) vstore16(kept[i], i, output);
    for (int i = 0; i < 2 * PANEL_SUMS; ++i) output[640 + i] = sums[i];
}
"""


@pytest.mark.parametrize("rows", [tile for tile in TILES if tile not in IN_REGISTERS])
def test_registers_are_left_as_they_were(engine: Engine, stream: Stream, rows: int, rng: np.random.Generator) -> None:
    """Vectors that live across the assembly, more of them than there are registers; rows [rows, run, step, value] of
    which the second run is read first, columns [panel, run, step, column, value]."""
    _skip_unless_able(engine, rows)
    tiles = byte_tiles(engine.capabilities)
    head = "".join(f"#define {name} {int(value)}\n" for name, value in tiles.constants(rows).items())
    source = common_source() + head + kernel_source("clinfer.ops.shared", "byte_products.h") + _LIVE
    values = rng.standard_normal(640).astype(np.float32)
    steps = (12 // tiles.step_values, tiles.step_values)
    columns = rng.integers(-128, 128, (2, 2, steps[0], tiles.columns, steps[1])).astype(np.int8)
    data = rng.integers(0, 256, (rows, 2, *steps)).astype(np.uint8)
    buffers = [engine.allocate_bytes(size)
               for size in (values.nbytes, columns.nbytes, data.nbytes, 4 * (640 + 2 * rows * tiles.columns))]
    kernel = engine.create_kernel(engine.build_program(source), "live")
    for index, (buffer, given_values) in enumerate(zip(buffers, (values, columns, data, None), strict=True)):
        kernel.set_buffer(index, buffer)
        if given_values is not None:
            stream.write(buffer, given_values)
    stream.enqueue(kernel, WorkSize((1,), (1,)))
    found = stream.read(buffers[3]).view(np.float32)
    wanted = values.reshape(40, 16) * np.float32(2)
    for turn in range(3):
        wanted = wanted * np.float32(0.5) + (turn + np.arange(40, dtype=np.float32))[:, None]
    assert np.array_equal(found[:640].reshape(40, 16), wanted)
    sums = 3 * np.einsum("irsk,prsck->pic", data[:, ::-1].astype(np.int64), columns.astype(np.int64))
    assert np.array_equal(found[640:].reshape(2, rows, tiles.columns), sums)
