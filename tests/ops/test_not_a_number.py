"""What bounds numbers, or compares them, hands on what is not a number, as NumPy and PyTorch do."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.matmul import MatMul
from clinfer.ops.pooling import AdaptiveMaxPool, MaxPool
from clinfer.ops.reduce import Reduce
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.engine import Engine
from clinfer.topology import Input, Port, Primitive, Topology
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.program.building import constant

ROWS, COLUMNS = 3, 37
_TYPES = {"f32": np.float32, "f16": np.float16}
Computed = Callable[..., np.ndarray]
_ONE_OPERAND: dict[str, tuple[tuple[float, ...], Computed]] = {
    "Relu": ((), lambda a: np.maximum(a, 0)),
    "Clamp": ((-0.5, 0.25), lambda a: np.clip(a, -0.5, 0.25)),
    "HardSigmoid": ((0.25, 0.5), lambda a: np.clip(a * 0.25 + 0.5, 0, 1)),
    "HSigmoid": ((), lambda a: np.clip(a + 3, 0, 6) / 6),
    "HSwish": ((), lambda a: a * np.clip(a + 3, 0, 6) / 6),
    "Sign": ((), np.sign),
}
_TWO_OPERANDS: dict[str, Computed] = {"Maximum": np.maximum, "Minimum": np.minimum}


def _numbers(rng: np.random.Generator, kind: str) -> np.ndarray:
    """Numbers from all over, every fifth of them none."""
    found = (rng.normal(size=(ROWS, COLUMNS)) * 3).astype(_TYPES[kind])
    found[rng.random(found.shape) < 0.2] = np.nan
    found[0, :3] = np.inf, -np.inf, 0
    return found


def _computed(engine: Engine, given: list[np.ndarray], kind: str, *primitives: Primitive) -> np.ndarray:
    inputs = [Input(name, shape=value.shape, element_type=ElementType.of(kind))
              for name, value in zip("ab", given, strict=False)]
    inference = OpenVinoShapeInference()
    network = Network(compile_topology(engine, Topology(*inputs, *primitives), inference), engine.create_stream(),
                      inference)
    return execute(network, given)[0]


@pytest.mark.parametrize("kind", _TYPES)
@pytest.mark.parametrize("mode", _ONE_OPERAND)
def test_one_operand(engine: Engine, rng: np.random.Generator, mode: str, kind: str) -> None:
    a, (parameters, compute) = _numbers(rng, kind), _ONE_OPERAND[mode]
    found = _computed(engine, [a], kind, Eltwise("y", ("a",), mode=mode, parameters=parameters))
    with np.errstate(invalid="ignore"):
        wanted = compute(a.astype(np.float64))
    np.testing.assert_allclose(found, wanted, rtol=2e-3 if kind == "f16" else 1e-6)


@pytest.mark.parametrize("kind", _TYPES)
@pytest.mark.parametrize("mode", _TWO_OPERANDS)
def test_two_operands(engine: Engine, rng: np.random.Generator, mode: str, kind: str) -> None:
    a, b = _numbers(rng, kind), _numbers(rng, kind)
    node = Eltwise("y", ("a", "b"), mode=mode)
    wanted = _TWO_OPERANDS[mode](a, b)
    np.testing.assert_array_equal(_computed(engine, [a, b], kind, node), wanted)
    np.testing.assert_array_equal(node.evaluate((a, b), (a.shape, b.shape))[0], wanted)


@pytest.mark.parametrize("mode", ["Relu", "Clamp", "Sign"])
def test_behind_a_product(engine: Engine, rng: np.random.Generator, mode: str) -> None:
    """A row of the data that holds what is no number makes none of all its results."""
    a = _numbers(rng, "f32")
    a[1] = rng.normal(size=COLUMNS)
    weights = rng.normal(size=(COLUMNS, 40)).astype(np.float32)
    parameters, compute = _ONE_OPERAND[mode]
    found = _computed(engine, [a], "f32", constant("weights", weights), MatMul("product", ("a", "weights")),
                      Eltwise("y", ("product",), mode=mode, parameters=parameters))
    with np.errstate(invalid="ignore"):
        wanted = compute(a.astype(np.float64) @ weights)
    assert np.isnan(wanted[0]).all() and not np.isnan(wanted[1]).any()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kernel", ["reduce_ref", "reduce_rows", "reduce_columns", "reduce_columns_shared_1"])
@pytest.mark.parametrize("mode", ["Max", "Min"])
@pytest.mark.parametrize("kind", _TYPES)
def test_the_extreme_of_many(engine: Engine, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, kind: str,
                             mode: str, kernel: str) -> None:
    monkeypatch.setenv("CLINFER_FORCE_KERNEL", f"y={kernel}")
    a, axis = _numbers(rng, kind), 0 if kernel.startswith("reduce_columns") else 1
    a[2], a[:, 5] = np.nan, 1
    wanted = {"Max": np.max, "Min": np.min}[mode](a, axis=axis)
    assert np.isnan(wanted).any()
    found = _computed(engine, [a], kind, constant("axes", np.array([axis])), Reduce("y", ("a", "axes"), mode=mode))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kernel", ["pool_ref", "pool_windows", "b_fs_yx_fsv16:pool_fsv16",
                                    "byxf:pool_channels_last", "pool_rows"])
@pytest.mark.parametrize("kind", _TYPES)
def test_the_largest_of_a_window(engine: Engine, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch,
                                 device: DeviceInfo, kind: str, kernel: str) -> None:
    if kernel == "pool_rows" and device.type != "CPU":
        pytest.skip("pool_rows is for CPUs")
    monkeypatch.setenv("CLINFER_FORCE_KERNEL", f"y={kernel}")
    a = (rng.normal(size=(1, 32, 9, 70)) * 3).astype(_TYPES[kind])
    a[rng.random(a.shape) < 0.02] = np.nan
    wanted = np.lib.stride_tricks.sliding_window_view(a, (3, 3), (2, 3)).max((-1, -2))
    assert np.isnan(wanted).any() and not np.isnan(wanted).all()
    found = _computed(engine, [a], kind, MaxPool("y", ("a",), kernel=(3, 3), strides=(1, 1)))
    np.testing.assert_array_equal(found, wanted)


def test_where_the_largest_is(engine: Engine, rng: np.random.Generator) -> None:
    """What is not a number is the largest, and the last one of several counts, as in PyTorch."""
    a = rng.normal(size=(1, 1, 4, 4)).astype(np.float32)
    a[0, 0, 0, 0] = a[0, 0, 1, 0] = a[0, 0, 3, 3] = np.nan
    for node in (MaxPool("y", ("a",), kernel=(2, 2), strides=(2, 2), index_element_type="i64"),
                 AdaptiveMaxPool("y", ("a", "counts"), index_element_type="i64")):
        counts = [] if isinstance(node, MaxPool) else [constant("counts", np.array([2, 2]))]
        topology = Topology(Input("a", shape=a.shape, element_type=ElementType.of("f32")), *counts, node,
                            outputs={"largest": Port("y"), "at": Port("y", 1)})
        largest, at = execute(network_of(engine, topology), [a])
        assert np.isnan(largest.reshape(-1)).tolist() == [True, False, False, True]
        assert at.reshape(-1)[[0, 3]].tolist() == [4, 15]
