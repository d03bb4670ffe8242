"""Pooling: its shape rule against OpenVINO's, hand-made topologies, and means that the CPU plugin gets wrong."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.ops.concat import Concat
from clinfer.ops.pooling import AdaptiveAvgPool, AdaptiveMaxPool, AvgPool, MaxPool
from clinfer.runtime.engine import Engine
from clinfer.topology import Input, Port, Topology
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import assert_close, ov


def _random_attributes(rng: np.random.Generator, axes: int) -> dict[str, object]:
    def pick(low: int, high: int) -> list[int]:
        return [int(v) for v in rng.integers(low, high + 1, axes)]
    return {"kernel": pick(1, 4), "strides": pick(1, 4), "pads_begin": pick(0, 3), "pads_end": pick(0, 3),
            "rounding_type": str(rng.choice(["floor", "ceil", "ceil_torch"])),
            "auto_pad": str(rng.choice(["explicit", "same_upper", "same_lower", "valid"])), "dilations": pick(1, 3)}


def test_the_shape_rule_is_openvinos(rng: np.random.Generator) -> None:
    from openvino.utils.node_factory import NodeFactory
    factory = NodeFactory("opset14")
    compared = 0
    for _ in range(600):
        axes = int(rng.integers(1, 4))
        attributes = _random_attributes(rng, axes)
        shape = (2, 3, *(int(v) for v in rng.integers(1, 15, axes)))
        data = ov.op.Parameter(ov.Type.f32, ov.PartialShape(shape))
        try:
            node = factory.create("MaxPool", [data.output(0)], {**attributes, "index_element_type": "i64", "axis": 0})
        except RuntimeError:
            continue
        fields = {name: tuple(v) if isinstance(v, list) else v for name, v in attributes.items()}
        assert MaxPool("pool", ("x",), **fields).infer_shapes((shape,), {}) == (tuple(node.get_output_shape(0)),)
        compared += 1
    assert compared > 100


def test_a_window_larger_than_the_data_is_refused() -> None:
    with pytest.raises(ClinferError, match="larger than the padded data"):
        MaxPool("pool", ("x",), kernel=(3, 3)).infer_shapes(((1, 1, 2, 8),), {})


def test_attributes_of_different_length_are_refused() -> None:
    with pytest.raises(ClinferError, match="kernel and strides"):
        MaxPool("pool", ("x",), kernel=(3, 3), strides=(1,))


def _mean_with_pads(data: np.ndarray, kernel: int, stride: int, pad: int, outputs: int) -> np.ndarray:
    """Means along the last axis; the pads count as zeros, what lies behind them does not count."""
    padded = np.pad(data, [(0, 0)] * 3 + [(pad, pad)])
    windows = [padded[..., i * stride:i * stride + kernel] for i in range(outputs)]
    return np.stack([w.mean(-1) for w in windows], -1)


@pytest.mark.parametrize("size, outputs", [(10, 6), (11, 6), (6, 4)])
def test_means_count_the_pads_but_nothing_behind_them(engine: Engine, rng: np.random.Generator, size: int,
                                                      outputs: int) -> None:
    topology = Topology(
        Input("x", shape=(2, 16, 3, size), element_type=ElementType.of("f32")),
        AvgPool("pool", ("x",), kernel=(1, 3), strides=(1, 2), pads_begin=(0, 1), pads_end=(0, 1),
                rounding_type="ceil", exclude_pad=False))
    data = rng.standard_normal((2, 16, 3, size)).astype(np.float32)
    (result,) = execute(network_of(engine, topology), [data])
    assert_close(result, _mean_with_pads(data, 3, 2, 1, outputs), 1e-5)


def test_hand_made_pooling_and_concat_of_bytes(engine: Engine, rng: np.random.Generator) -> None:
    topology = Topology(
        Input("input0", shape=(1, 2, 3, 3), element_type=ElementType.of("i8")),
        Input("input1", shape=(1, 1, 3, 3), element_type=ElementType.of("i8")),
        MaxPool("pool0", ("input0",), strides=(1, 1), kernel=(2, 2)),
        MaxPool("pool1", ("input1",), strides=(1, 1), kernel=(2, 2)),
        Concat("concat", ("pool0", "pool1"), axis=1))
    arrays = [rng.integers(-128, 128, shape).astype(np.int8) for shape in ((1, 2, 3, 3), (1, 1, 3, 3))]
    (result,) = execute(network_of(engine, topology), arrays)
    both = np.concatenate(arrays, 1)
    expected = np.max([both[..., y:y + 2, x:x + 2] for y in (0, 1) for x in (0, 1)], axis=0)
    assert np.array_equal(result, expected)


def _windows(data: np.ndarray, counts: tuple[int, int]) -> list[list[np.ndarray]]:
    """The windows of the last two axes, by PyTorch's rule."""
    def bounds(size: int, count: int) -> list[slice]:
        return [slice(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]
    return [[data[..., y, x] for x in bounds(data.shape[3], counts[1])] for y in bounds(data.shape[2], counts[0])]


@pytest.mark.parametrize("shape, counts", [((2, 3, 7, 9), (3, 4)), ((1, 20, 5, 4), (7, 1)), ((1, 2, 6, 6), (6, 2))])
def test_as_many_windows_as_asked_for_at_run_time(engine: Engine, rng: np.random.Generator,
                                                  shape: tuple[int, ...], counts: tuple[int, int]) -> None:
    topology = Topology(
        Input("x", shape=shape, element_type=ElementType.of("f32")),
        Input("windows", shape=(2,), element_type=ElementType.of("i64")),
        AdaptiveAvgPool("mean", ("x", "windows")),
        AdaptiveMaxPool("max", ("x", "windows"), index_element_type="i64"),
        outputs={"mean": Port("mean"), "max": Port("max"), "at": Port("max", 1)})
    data = rng.standard_normal(shape).astype(np.float32)
    mean, largest, at = execute(network_of(engine, topology), [data, np.array(counts, np.int64)])
    windows = _windows(data, counts)
    assert_close(mean, np.stack([np.stack([w.mean((2, 3)) for w in row], -1) for row in windows], -2), 1e-5)
    wanted = np.stack([np.stack([w.max((2, 3)) for w in row], -1) for row in windows], -2)
    assert np.array_equal(largest, wanted)
    flat = data.reshape(*shape[:2], -1)
    assert np.array_equal(np.take_along_axis(flat, at.reshape(*shape[:2], -1), 2).reshape(wanted.shape), wanted)


def test_windows_of_another_rank_are_refused() -> None:
    with pytest.raises(ClinferError, match="one size for each"):
        AdaptiveAvgPool("pool", ("x", "windows")).infer_shapes(((1, 1, 2, 8), (1,)), {1: np.array([2])})
