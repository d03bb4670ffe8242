"""Floats of 8 and 16 bits: conversions on the device against ml_dtypes, and products that read weights of 8 bits."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.base.element_type import ElementType
from clinfer.base.shape import ANY
from clinfer.ops.convert import Convert
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from clinfer.topology import Input, Topology
from tests.network.running import check, network_of
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, ov

OTHERS = {"f8e4m3": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2}
NARROW = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, **OTHERS}


@pytest.mark.parametrize("kernel", ["convert_ref", "convert_vector"])
@pytest.mark.parametrize("name", OTHERS)
def test_every_number_on_the_device(engine: Engine, name: str, kernel: str) -> None:
    kind, codes = ElementType.of(name), np.arange(256, dtype=np.uint8)
    network = network_of(engine, _convert(name, "f32"), BuildOptions({"y": ("", kernel)}))
    (found,) = execute(network, [kind.decode(codes, 256)])
    np.testing.assert_array_equal(found, codes.view(OTHERS[name]).astype(np.float32))


@pytest.mark.parametrize("kernel", ["convert_ref", "convert_vector"])
@pytest.mark.parametrize("name", OTHERS)
def test_rounding_on_the_device(engine: Engine, rng: np.random.Generator, name: str, kernel: str) -> None:
    values = np.sort(np.arange(256, dtype=np.uint8).view(OTHERS[name]).astype(np.float32))
    values = values[np.isfinite(values)]
    ends = [np.inf, -np.inf, np.nan, 0, -0.0, 448, 464, 464.1, 480, 57344, 61439, 61440, 61441, 1e38]
    random = rng.standard_normal(999) * np.exp2(rng.uniform(-20, 18, 999))
    given = np.concatenate([values, (values[1:] + values[:-1]) / 2, ends, random]).astype(np.float32)
    network = network_of(engine, _convert("f32", name), BuildOptions({"y": ("", kernel)}))
    (found,) = execute(network, [given])
    np.testing.assert_array_equal(found, given.astype(OTHERS[name]).astype(np.float32))


def _convert(source: str, target: str) -> Topology:
    return Topology(Input("x", shape=(ANY,), element_type=ElementType.of(source)),
                    Convert("y", ("x",), destination_type=target))


@pytest.mark.parametrize("name", ["bf16", *OTHERS])
def test_the_host_rounds_like_the_device(rng: np.random.Generator, name: str) -> None:
    given = rng.standard_normal((40, 5)).astype(np.float32)
    (found,) = Convert("y", ("x",), destination_type=name).evaluate((given,), (given.shape,))
    np.testing.assert_array_equal(found, given.astype(NARROW[name]).astype(np.float32))


@pytest.mark.parametrize("name", NARROW)
def test_numbers_are_rounded_that_become_wide_again(engine: Engine, rng: np.random.Generator, name: str) -> None:
    x = ops.parameter([-1, 96], np.float32)
    sources = (x, ops.negative(x), ops.matmul(x, np.eye(96, dtype=np.float32), False, False))
    made = [ops.subtract(ops.relu(ops.convert(ops.convert(source, name), "f32")), ops.sign(x)) for source in sources]
    network = network_of(engine, ov.Model(made, [x]))
    given = rng.standard_normal((5, 96)).astype(np.float32)
    rounded = given.astype(NARROW[name]).astype(np.float32)
    for found, wanted in zip(execute(network, [given]), (rounded, -rounded, rounded), strict=True):
        np.testing.assert_array_equal(found, np.maximum(wanted, 0) - np.sign(given))


@pytest.mark.parametrize("is_scaled", [True, False])
@pytest.mark.parametrize("name", OTHERS)
def test_products_read_weights_as_the_model_stores_them(engine: Engine, rng: np.random.Generator, name: str,
                                                        is_scaled: bool) -> None:
    kind = ElementType.of(name)
    raw = kind.encode(rng.standard_normal(96 * 80).astype(np.float32))
    stored = ov.op.Constant(ov.Tensor(raw.reshape(96, 80), ov.Shape([96, 80]), getattr(ov.Type, name)))
    weights = ops.convert(stored, "f32")
    if is_scaled:
        weights = ops.multiply(weights, ops.constant(rng.uniform(0.1, 1, (1, 80)).astype(np.float32)))
    x = ops.parameter([-1, 96], np.float32, name="x")
    model = ov.Model([ops.matmul(x, weights, False, False).output(0)], [x], "product")
    network, oracle = network_of(engine, model), CpuPlugin(model)
    held = [data.layout for data in network.program.constants.values() if data.layout.count == 96 * 80]
    assert [layout.element_type for layout in held] == [kind]
    for rows in (1, 9, 40):
        check(network, oracle, [rng.standard_normal((rows, 96)).astype(np.float32)])
