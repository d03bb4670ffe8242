"""Normalisations against NumPy: what the CPU plugin lacks or gets wrong, and axes given at run time."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.layout import Padding
from clinfer.base.shape import ANY
from clinfer.ops.group_norm import GroupNormalization
from clinfer.ops.lrn import LRN
from clinfer.ops.normalize_l2 import NormalizeL2
from clinfer.ops.softmax import LogSoftmax
from clinfer.runtime.engine import Engine
from clinfer.topology import Constant, Input, Port, Primitive, Topology
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import TOLERANCE, assert_close, to_bf16

F32, I64 = ElementType.of("f32"), ElementType.of("i64")


def _with_axes(engine: Engine, primitive: Primitive, data: np.ndarray, axes: list[int],
               is_constant: bool) -> np.ndarray:
    values = np.array(axes, np.int64)
    given = Constant("axes", value=values, element_type=I64) if is_constant else Input(
        "axes", shape=values.shape, element_type=I64)
    network = network_of(engine, Topology(Input("x", shape=data.shape, element_type=F32), given, primitive))
    return execute(network, [data] if is_constant else [data, values])[0]


def _local_response(x: np.ndarray, axes: list[int], primitive: LRN) -> np.ndarray:
    reach = (primitive.size - 1) // 2
    sums = x.astype(np.float64) ** 2
    for axis in axes:
        padded = np.pad(sums, [(reach, reach) if a == axis else (0, 0) for a in range(x.ndim)])
        windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1, axis=axis)
        sums = windows.sum(-1)
    return x / (primitive.bias + primitive.alpha / primitive.size ** len(axes) * sums) ** primitive.beta


@pytest.mark.parametrize("is_constant", [True, False])
@pytest.mark.parametrize("axes", [[1], [3], [2, 3], []])
def test_local_response(engine: Engine, rng: np.random.Generator, axes: list[int], is_constant: bool) -> None:
    primitive = LRN("node", ("x", "axes"), alpha=2.0, beta=0.6, bias=0.5, size=5)
    data = rng.uniform(-2, 2, (2, 7, 5, 90)).astype(np.float32)
    assert_close(_with_axes(engine, primitive, data, axes, is_constant), _local_response(data, axes, primitive), 1e-5)


@pytest.mark.parametrize("is_constant", [True, False])
@pytest.mark.parametrize("mode", ["add", "max"])
@pytest.mark.parametrize("axes", [[1], [3, -3], [0, 1, 2, 3], []])
def test_lengths(engine: Engine, rng: np.random.Generator, axes: list[int], mode: str, is_constant: bool) -> None:
    data = rng.uniform(-2, 2, (2, 7, 5, 9)).astype(np.float32)
    primitive = NormalizeL2("node", ("x", "axes"), eps=0.7, eps_mode=mode)
    squares = np.sum(data.astype(np.float64) ** 2, tuple(axes), keepdims=True)
    wanted = data / np.sqrt(squares + 0.7 if mode == "add" else np.maximum(squares, 0.7))
    assert_close(_with_axes(engine, primitive, data, axes, is_constant), wanted, 1e-5)


def test_rows_of_an_output_with_padding(engine: Engine, rng: np.random.Generator) -> None:
    """The elements of a row lie side by side in the data alone."""
    axes = Constant("axes", value=np.array([1]), element_type=I64)
    padded = NormalizeL2("node", ("x", "axes"), eps=0.7, output_padding=Padding((1,) * 4, (2,) * 4))
    open_shape = (ANY, 20, ANY, ANY)
    network = network_of(engine, Topology(Input("x", shape=open_shape, element_type=F32), axes, padded))
    data = rng.uniform(-2, 2, (3, 20, 1, 1)).astype(np.float32)
    squares = np.sum(data.astype(np.float64) ** 2, 1, keepdims=True)
    assert_close(execute(network, [data])[0], data / np.sqrt(squares + 0.7), 1e-5)


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("shape, groups", [((2, 24, 5, 7), 4), ((3, 6), 2), ((1, 8, 2, 2, 2, 3), 1)])
def test_groups(engine: Engine, rng: np.random.Generator, shape: tuple[int, ...], groups: int, kind: str) -> None:
    def random(*sizes: int) -> np.ndarray:
        values = rng.uniform(-2, 2, sizes).astype(np.float32) + 3
        return to_bf16(values) if kind == "bf16" else values.astype(ElementType.of(kind).numpy)
    data, scale, bias = random(*shape), random(shape[1]), random(shape[1])
    element_type = ElementType.of(kind)
    network = network_of(engine, Topology(
        Input("x", shape=shape, element_type=element_type), Constant("s", value=scale, element_type=element_type),
        Constant("b", value=bias, element_type=element_type),
        GroupNormalization("node", ("x", "s", "b"), num_groups=groups, epsilon=1e-3)))
    (result,) = execute(network, [data])
    parts = data.astype(np.float64).reshape(shape[0], groups, -1)
    parts = (parts - parts.mean(2, keepdims=True)) / np.sqrt(parts.var(2, keepdims=True) + 1e-3)
    per_channel = (1, -1, *(1,) * (len(shape) - 2))
    wanted = parts.reshape(shape) * scale.reshape(per_channel) + bias.reshape(per_channel)
    assert_close(np.asarray(result, np.float64), wanted, TOLERANCE[kind], kind)


def test_channels_that_do_not_fill_the_groups_are_refused() -> None:
    with pytest.raises(ClinferError, match="do not fill the groups"):
        GroupNormalization("node", ("x", "s", "b"), num_groups=4).infer_shapes(((1, 6, 2), (6,), (6,)), {})


@pytest.mark.parametrize("cls", [LRN, NormalizeL2])
def test_axes_outside_the_data_are_refused(cls: type[LRN | NormalizeL2]) -> None:
    with pytest.raises(ClinferError, match="outside the data"):
        cls("node", ("x", "axes")).infer_shapes(((2, 3), (1,)), {1: np.array([2])})


@pytest.mark.parametrize("axis", [0, 1])
def test_the_logarithm_of_a_near_certainty(engine: Engine, axis: int) -> None:
    """Of 1000 beside 992: as near as the sum of the powers lets it be, not as near as 1000 does."""
    data = np.full((2, 2), 992, np.float32)
    np.fill_diagonal(data, 1000)
    network = network_of(engine, Topology(Input("x", shape=data.shape, element_type=F32),
                                          LogSoftmax("y", (Port("x"),), axis=axis)))
    found = np.diagonal(execute(network, [data])[0])
    assert_close(found, np.full(2, -np.log1p(np.exp(-8.0)), np.float32), 1e-3)
