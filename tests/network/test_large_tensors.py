"""Tensors of more than 2^31 - 1 elements; most tests set that limit lower, and three, in `make test-full`, have such
tensors."""
from __future__ import annotations

import os
from dataclasses import replace
from math import prod

import numpy as np
import pytest
from openvino import opset13 as ops
from openvino import opset14

from clinfer.base import layout
from clinfer.base.errors import ClinferError
from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops import kernels_of
from clinfer.ops.matmul import MatMul
from clinfer.ops.shared.targets import has_wide_vectors
from clinfer.program.options import BuildOptions
from clinfer.runtime.device import available_devices
from clinfer.runtime.engine import Engine
from tests.devices import engine_of
from tests.network.running import check, network_of
from tests.oracle import TOLERANCE, CpuPlugin, assert_close, ov

LIMIT = 2000


@pytest.fixture
def low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """32 bits reach to `LIMIT`."""
    monkeypatch.setattr(layout, "LARGEST_INDEX", LIMIT)


def _products(rng: np.random.Generator, rows: int = -1) -> ov.Model:
    """Softmax of a product with packed weights; the constants are larger than the limit."""
    x = ops.parameter([rows, 64], np.float32, name="x")
    product = ops.matmul(x, ops.constant(rng.standard_normal((64, 48)).astype(np.float32)), False, False)
    return ov.Model([ops.reduce_max(ops.softmax(ops.relu(product), -1), np.array([0]), True)], [x], "products")


def test_large_shapes_of_open_models_get_kernels_of_their_own(
        engine: Engine, rng: np.random.Generator, low_limit: None, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    """At the first such shape, once; small shapes keep theirs."""
    model = ov.Model([(x := ops.parameter([-1, 40], np.float32, name="x")) and ops.add(ops.softmax(x, -1), x)
                      .output(0)], [x], "rows")
    network, oracle = network_of(engine, model), CpuPlugin(model)
    small = [implementation.problem.is_large for node in network.program.nodes
             for implementation in node.implementations]
    assert small and not any(small)
    built = []
    monkeypatch.setenv("CLINFER_DEBUG", "1")
    for rows in (3, 50, 51, 70, 60, 9, 80, 50):
        capsys.readouterr()
        check(network, oracle, [rng.standard_normal((rows, 40)).astype(np.float32)])
        built.append(capsys.readouterr().err.count("to index with 64 bits"))
    kernels = len(network.program.segments[0].nodes)
    assert built == [0, 0, kernels, 0, 0, 0, 0, 0], "51 rows of 40 are the first beyond the limit"


def test_large_products_have_their_weights_where_they_want_them(engine: Engine, rng: np.random.Generator,
                                                                low_limit: None) -> None:
    model = _products(rng)
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for rows in (30, 100, 2, 90, 33):
        check(network, oracle, [rng.standard_normal((rows, 64)).astype(np.float32)])
    network.release_memory()
    check(network, oracle, [rng.standard_normal((70, 64)).astype(np.float32)])


@pytest.mark.parametrize("way, cheap, told_later", [
    ("as they are", "matmul_tile", "f32 in ks_n_nsv32"),
    ("reordered", "matmul_vector", "f32 in bfyx, reordered from ks_n_nsv32")])
def test_the_cheapest_kernel_decides_how_weights_are_had(
        engine: Engine, rng: np.random.Generator, low_limit: None, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str], way: str, cheap: str, told_later: str) -> None:
    """The program has them in panels, as tiles want them; a profile, of which `clinfer explain` tells, says so too."""
    if engine.device.type != "CPU":
        pytest.skip("the kernels are made for CPUs")
    x = ops.parameter([-1, 24], np.float32, name="x")
    weights = rng.standard_normal((24, 48)).astype(np.float32)
    model = ov.Model([ops.matmul(x, ops.constant(weights), False, False).output(0)], [x], "product")
    topology = to_topology(model).topology
    product = next(primitive for primitive in topology if isinstance(primitive, MatMul))
    tile = "matmul_tile_8" if has_wide_vectors(engine.capabilities) else "matmul_tile_4x1"
    options = BuildOptions({product.id: ("", tile)})
    program = compile_topology(engine, topology, OpenVinoShapeInference(), options)
    network = Network(program, engine.create_stream(profiling=True), OpenVinoShapeInference(), profiling=True)
    oracle = CpuPlugin(model)
    program.weights.capacity = 1 << 20
    for kernel in kernels_of(product).kernels:
        usual = kernel.cost
        factor = 1 if kernel.name == cheap else 1e6
        monkeypatch.setattr(kernel, "cost", lambda problem, config, usual=usual, factor=factor:
                            factor * usual(problem, config))
    monkeypatch.setenv("CLINFER_DEBUG", "3")
    capsys.readouterr()
    check(network, oracle, [rng.standard_normal((90, 24)).astype(np.float32)])
    told, *_ = [line for line in capsys.readouterr().err.splitlines() if "has its weights" in line]
    assert f"{cheap}" in told and f"{way}; it takes" in told and tile in told.partition("; it takes")[2]
    row, = (row for row in network.profile() if row.weights)
    assert row.kernel.startswith(cheap) and row.weights == told_later
    check(network, oracle, [rng.standard_normal((20, 24)).astype(np.float32)])


def test_static_models_have_nothing_else(engine: Engine, rng: np.random.Generator, low_limit: None) -> None:
    model = _products(rng, rows=60)
    network = network_of(engine, model)
    large = [implementation.problem.is_large for node in network.program.nodes
             for implementation in node.implementations if "matmul" in implementation.name]
    assert large and all(large)
    check(network, CpuPlugin(model), [rng.standard_normal((60, 64)).astype(np.float32)])


@pytest.mark.parametrize("is_open", [False, True])
def test_what_no_kernel_can_compute(engine: Engine, rng: np.random.Generator, low_limit: None,
                                    is_open: bool) -> None:
    x = ops.parameter([-1 if is_open else 60, 12, 4, 4], np.float32, name="x")
    model = ov.Model([opset14.inverse(x, False)], [x], "inverses")
    if not is_open:
        with pytest.raises(ClinferError, match="indexes with 32 bits"):
            network_of(engine, model)
        return
    network, oracle = network_of(engine, model), CpuPlugin(model)
    array = np.eye(4, dtype=np.float32) + rng.uniform(0, 0.1, (60, 12, 4, 4)).astype(np.float32)
    check(network, oracle, [array[:4]])
    with pytest.raises(ClinferError, match="too large to be indexed with 32 bits") as caught:
        check(network, oracle, [array])
    assert caught.value.values["elements"] == array.size and "inverse" in caught.value.where.lower()
    check(network, oracle, [array[:2]])


@pytest.mark.parametrize("is_open", [False, True])
def test_what_the_device_cannot_allocate_builds_nothing(engine: Engine, low_limit: None, is_open: bool,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    x = ops.parameter([-1 if is_open else 60, 40], np.float32, name="x")
    model = ov.Model([ops.softmax(x, -1).output(0)], [x], "softmax")
    memory, limits = engine.allocate_bytes(4 * 60 * 40), replace(engine.ledger.limits, single=4 * 2200)
    if not is_open:
        monkeypatch.setattr(engine.ledger, "limits", limits)
        with pytest.raises(ClinferError, match="larger than one allocation may be"):
            network_of(engine, model)
        return
    network, built = network_of(engine, model), []
    network.set_input("x", memory, (60, 40))
    monkeypatch.setattr(engine.ledger, "limits", limits)
    monkeypatch.setattr(network.program.kernels, "prepare", built.extend)
    with pytest.raises(ClinferError, match="larger than one allocation may be"):
        network.execute()
    assert not built


def test_rows_of_large_tensors(engine: Engine, rng: np.random.Generator, low_limit: None) -> None:
    """The small twin of `test_three_billion_elements`."""
    _check_rows(engine, rng, 300, np.float32)


def _check_rows(engine: Engine, rng: np.random.Generator, rows: int, dtype: type[np.floating]) -> None:
    """What comes of [rows, 1000], looked at where numbers were written: at both ends and where 2^31 elements end."""
    width = 1000
    x, places = ops.parameter([-1, width], dtype, name="x"), ops.parameter([-1], np.int64, name="places")
    weights = (rng.standard_normal((width, 24)) / 30).astype(dtype)
    sums = ops.add(ops.softmax(x, -1), x)
    results = [(ops.concat([sums, x], 0), 0), (ops.matmul(x, ops.constant(weights), False, False), 0),
               (ops.reduce_mean(sums, np.array([1])), 0), (ops.transpose(sums, np.array([1, 0])), 1)]
    network = network_of(engine, ov.Model([ops.gather(result, places, np.array(axis)) for result, axis in results],
                                          [x, places], "rows"))
    stream = engine.create_stream()
    memory = engine.allocate_bytes(rows * width * np.dtype(dtype).itemsize, zero=True)
    wanted, data = [], []
    for row in (0, min(2**31 // width, rows // 2), rows - 4):
        values = rng.standard_normal((4, width)).astype(dtype)
        stream.write(memory, values, offset_bytes=row * values[0].nbytes, blocking=True)
        wanted += range(row, row + 4)
        data.append(values.astype(np.float64))
    numbers, given = np.array(wanted), engine.allocate_bytes(8 * len(wanted))
    stream.write(given, numbers, blocking=True)
    network.set_input("x", memory, (rows, width))
    network.set_input("places", given, numbers.shape, numbers)
    inputs = np.concatenate(data)
    exponents = np.exp(inputs - inputs.max(1, keepdims=True))
    summed = exponents / exponents.sum(1, keepdims=True) + inputs
    expected = (summed, inputs @ weights.astype(np.float64), summed.mean(1), summed.T)
    for output, values in zip(network.execute().values(), expected, strict=True):
        assert_close(output.to_numpy(), values.astype(dtype), TOLERANCE["f16" if dtype == np.float16 else "f32"])


def test_large_pictures(engine: Engine, rng: np.random.Generator, low_limit: None) -> None:
    """The small twin of `test_three_billion_elements_of_pictures`."""
    _check_pictures(engine, rng, 30, (8, 5, 6), np.float32)


def _check_pictures(engine: Engine, rng: np.random.Generator, batch: int, picture: tuple[int, int, int],
                    dtype: type[np.floating]) -> None:
    """What convolution, pooling, attention and ScatterUpdate make of [batch, *picture], looked at as `_check_rows`
    does; the oracle computes these pictures alone."""
    written = np.array([0, 1, min(2**31 // prod(picture), batch // 2), batch - 2, batch - 1])
    weights = (rng.standard_normal((16, picture[0], 3, 3)) / 9).astype(dtype)
    model = _of_pictures(weights, picture, dtype)
    network, oracle = network_of(engine, model), CpuPlugin(model)
    stream = engine.create_stream()
    memory = engine.allocate_bytes(batch * prod(picture) * np.dtype(dtype).itemsize, zero=True)
    data, updates = (rng.standard_normal((count, *picture)).astype(dtype) for count in (len(written), 2))
    for index, values in zip(written, data, strict=True):
        stream.write(memory, values, offset_bytes=int(index) * values.nbytes, blocking=True)
    held = {"x": (memory, (batch, *picture))}
    for name, array in (("places", written), ("targets", written[[1, 3]]), ("updates", updates)):
        held[name] = engine.allocate_bytes(array.nbytes), array.shape
        stream.write(held[name][0], array, blocking=True)
    for name, (buffer, shape) in held.items():
        network.set_input(name, buffer, shape)
    here = np.arange(len(written))
    expected = oracle([data, here, here[[1, 3]], updates])
    for output, values in zip(network.execute().values(), expected, strict=True):
        assert_close(output.to_numpy(), values, TOLERANCE["f16" if dtype == np.float16 else "f32"])


def _of_pictures(weights: np.ndarray, picture: tuple[int, int, int], dtype: type[np.floating]) -> ov.Model:
    """Four results of pictures, at the places asked for."""
    x, updates = (ops.parameter([-1, *picture], dtype, name=name) for name in ("x", "updates"))
    places, targets = (ops.parameter([-1], np.int64, name=name) for name in ("places", "targets"))
    ones, zeros = [1, 1], [0, 0]
    pooled = ops.max_pool(x, [2, 2], ones, zeros, zeros, [2, 2]).output(0)
    results = [ops.convolution(x, ops.constant(weights), ones, ones, ones, ones), pooled,
               ops.scaled_dot_product_attention(x, x, x), ops.scatter_update(x, targets, updates, np.array(0))]
    return ov.Model([ops.gather(result, places, np.array(0)) for result in results], [x, places, targets, updates],
                    "pictures")


# -- without another limit ------------------------------------------------------------------------------


def _first_engine(nbytes: int) -> Engine:
    """The engine of the first device, or a skip where it has no room for a tensor of that size and one like it."""
    engine = engine_of(available_devices()[0].name)
    able = engine.capabilities
    if able.max_alloc_size < nbytes:
        pytest.skip(f"{engine.device} allocates {able.max_alloc_size} bytes at once, not {nbytes}")
    free = able.global_mem_size - engine.ledger.current
    if min(free, _free_bytes() if able.unified_memory else free) < 3 * nbytes:
        pytest.skip(f"{engine.device} has no room for twice {nbytes} bytes")
    return engine


def _free_bytes() -> int:
    """Bytes of the host's memory that nobody uses."""
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable"))


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "sysconf"), reason="asks Linux for free memory")
def test_two_gibibytes_of_bytes(rng: np.random.Generator) -> None:
    """2^31 + 17 elements along one axis, of a model that saw few before."""
    count, step = 2**31 + 17, 104729
    engine = _first_engine(count)
    x, places = ops.parameter([-1], np.uint8, name="x"), ops.parameter([-1], np.int64, name="places")
    sums = ops.add(x, ops.constant(np.array([7], np.uint8)))
    last, most = np.array([-30]), np.array([2**62])
    model = ov.Model([ops.slice(sums, np.array([0]), most, np.array([step])),
                      ops.slice(sums, last, most, np.array([1])),
                      ops.gather(sums, places, np.array(0))], [x, places], "bytes")
    network = network_of(engine, model)
    for size in (1000, count, 999):
        ends = {0: rng.integers(0, 200, 50, np.uint8), size - 60: rng.integers(0, 200, 60, np.uint8)}
        if size == count:
            ends[2**31 - 20] = rng.integers(0, 200, 20, np.uint8)
        memory = engine.allocate_bytes(size)
        stream = engine.create_stream()
        stream.fill(memory, 3)
        for start, values in ends.items():
            stream.write(memory, values, offset_bytes=start)
        stream.finish()

        def expected(at: np.ndarray, ends: dict[int, np.ndarray] = ends) -> np.ndarray:
            found = np.full(len(at), 3, np.uint8)
            for start, values in ends.items():
                inside = (at >= start) & (at < start + len(values))
                found[inside] = values[at[inside] - start]
            return found + np.uint8(7)

        wanted = rng.integers(max(size - 60, 0), size, 40)
        network.set_input("x", memory, (size,))
        given = engine.allocate_bytes(wanted.nbytes)
        stream.write(given, wanted, blocking=True)
        network.set_input("places", given, wanted.shape, wanted)
        strided, tail, looked_up = (output.to_numpy() for output in network.execute().values())
        np.testing.assert_array_equal(strided, expected(np.arange(0, size, step)))
        np.testing.assert_array_equal(tail, expected(np.arange(size - 30, size)))
        np.testing.assert_array_equal(looked_up, expected(wanted))
        network.release_memory()


@pytest.mark.full
def test_three_billion_elements(rng: np.random.Generator) -> None:
    _check_rows(_roomy_gpu(), rng, 3 * 10**6, np.float16)


@pytest.mark.full
def test_three_billion_elements_of_pictures(rng: np.random.Generator) -> None:
    _check_pictures(_roomy_gpu(), rng, 3 * 10**9 // (16 * 32 * 32), (16, 32, 32), np.float16)


def _roomy_gpu() -> Engine:
    """A GPU with room for eight tensors of f16 of 3 billion elements, and for one that is twice as large."""
    device = next((device for device in available_devices() if device.type == "GPU"), None)
    if device is None:
        pytest.skip("there is no GPU")
    engine, nbytes = engine_of(device.name), 6 * 10**9
    able = engine.capabilities
    if able.max_alloc_size < 2 * nbytes or able.global_mem_size < 8 * nbytes:
        pytest.skip(f"{device} has {able.global_mem_size} bytes and allocates {able.max_alloc_size} at once")
    return engine
