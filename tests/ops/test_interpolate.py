"""Interpolation beside others than the CPU plugin: antialiased linear, which that computes without the filter, and
Pillow's filters."""
from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from clinfer.base.element_type import ElementType
from clinfer.ops.interpolate import Interpolate
from clinfer.runtime.engine import Engine
from clinfer.topology import Constant, Input, Topology
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import assert_close

_I64 = ElementType.of("i64")


def _filter(length: int, resized: int) -> np.ndarray:
    """[resized, length] weights of a triangle as wide as two input steps per output element."""
    scale = resized / length
    places = (np.arange(resized) + 0.5) / scale - 0.5
    weights = np.maximum(1 - np.abs(scale * (places[:, None] - np.arange(length))), 0)
    total = weights.sum(1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total != 0)


@pytest.mark.parametrize("height, width", [(4, 5), (16, 5), (23, 5), (4, 40)])
def test_downsizing_with_antialias_filters(engine: Engine, height: int, width: int, rng: np.random.Generator) -> None:
    """By OpenVINO's definition along all axes, also those that grow: there the triangles are narrower than a step, and
    where none of the data lies within one, the result is 0."""
    topology = Topology(
        Input("x", shape=(2, 3, 16, 15), element_type=ElementType.of("f32")),
        Constant("sizes", value=np.array([height, width]), element_type=_I64),
        Constant("axes", value=np.array([2, 3]), element_type=_I64),
        Interpolate("resize", ("x", "sizes", "axes"), mode="linear", antialias=True))
    data = rng.standard_normal((2, 3, 16, 15)).astype(np.float32)
    (result,) = execute(network_of(engine, topology), [data])
    expected = np.einsum("bfyx,Yy,Xx->bfYX", data, _filter(16, height), _filter(15, width)).astype(np.float32)
    assert_close(result, expected, 1e-5)


def _pillow_cubic(length: int, resized: int) -> np.ndarray:
    """[resized, length] weights of Pillow's resize with BICUBIC, as PyTorch's antialiased bicubic has them: Keys' cubic
    with a = -0.5, as wide as two steps of the coarser side, cut at the edges and scaled to the sum 1."""
    a, step = -0.5, length / resized
    support, weights = 2 * max(step, 1.0), np.zeros((resized, length))
    for row, centre in zip(weights, (np.arange(resized) + 0.5) * step, strict=True):
        taps = np.arange(max(int(centre - support + 0.5), 0), min(int(centre + support + 0.5), length))
        d = np.abs(taps - centre + 0.5) / max(step, 1.0)
        near, far = ((a + 2) * d - (a + 3)) * d * d + 1, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        row[taps] = np.where(d < 1, near, np.where(d < 2, far, 0))
    return weights / weights.sum(1, keepdims=True)


@pytest.mark.parametrize("cube_coeff", [-0.75, -0.5, -1.0])
@pytest.mark.parametrize("resized", [(4, 5), (40, 7), (16, 33)])
def test_pillows_cubic_filter_is_its_own(engine: Engine, rng: np.random.Generator, cube_coeff: float,
                                         resized: tuple[int, int]) -> None:
    topology = Topology(
        Input("x", shape=(2, 3, 16, 15), element_type=ElementType.of("f32")),
        Constant("sizes", value=np.array(resized), element_type=_I64),
        Constant("axes", value=np.array([2, 3]), element_type=_I64),
        Interpolate("resize", ("x", "sizes", "axes"), mode="bicubic_pillow", cube_coeff=cube_coeff))
    data = rng.standard_normal((2, 3, 16, 15)).astype(np.float32)
    (result,) = execute(network_of(engine, topology), [data])
    rows, columns = _pillow_cubic(16, resized[0]), _pillow_cubic(15, resized[1])
    assert_close(result, np.einsum("bfyx,Yy,Xx->bfYX", data, rows, columns).astype(np.float32), 1e-5)


@pytest.mark.parametrize("mode", ["cubic", "bicubic_pillow"])
@pytest.mark.parametrize("kind", ["u8", "i8"])
def test_whole_numbers_stay_within_their_type(engine: Engine, kind: str, mode: str) -> None:
    """Cubic filters overshoot at edges, beyond what bytes hold."""
    element_type = ElementType.of(kind)
    least, most = np.iinfo(element_type.numpy).min, np.iinfo(element_type.numpy).max
    topology = Topology(
        Input("x", shape=(1, 1, 8, 8), element_type=element_type),
        Constant("sizes", value=np.array([16, 16]), element_type=_I64),
        Constant("axes", value=np.array([2, 3]), element_type=_I64),
        Interpolate("resize", ("x", "sizes", "axes"), mode=mode, cube_coeff=-0.75))
    data = np.where(np.arange(8) < 4, least, most).astype(element_type.numpy)
    (result,) = execute(network_of(engine, topology), [np.tile(data, (1, 1, 8, 1))])
    assert np.all(result[..., :6] == least) and np.all(result[..., -6:] == most)
    assert np.all(np.diff(result.astype(np.int64)) >= 0)


@pytest.mark.parametrize("resized", [(20, 31), (7, 12)])
@pytest.mark.parametrize("axes", [(1, 2), (2, 1)])
@pytest.mark.parametrize("mode", ["bicubic_pillow", "bilinear_pillow"])
def test_pictures_of_bytes_are_resized_as_by_pillow(engine: Engine, rng: np.random.Generator, mode: str,
                                                    axes: tuple[int, int], resized: tuple[int, int]) -> None:
    """Pillow makes bytes of resized rows before it resizes columns."""
    topology = Topology(
        Input("x", shape=(1, 10, 18, 3), element_type=ElementType.of("u8")),
        Constant("sizes", value=np.array([resized[axis - 1] for axis in axes]), element_type=_I64),
        Constant("axes", value=np.array(axes), element_type=_I64),
        Interpolate("resize", ("x", "sizes", "axes"), mode=mode, cube_coeff=-0.5))
    data = rng.integers(0, 256, (1, 10, 18, 3), dtype=np.uint8)
    (result,) = execute(network_of(engine, topology), [data])
    method = Image.Resampling.BICUBIC if mode == "bicubic_pillow" else Image.Resampling.BILINEAR
    expected = np.asarray(Image.fromarray(data[0]).resize(resized[::-1], method))
    off = np.abs(result[0].astype(int) - expected)
    assert off.max() <= 1 and np.mean(off != 0) < 0.05
