"""GridSample where a single pixel counts, and hardly at all."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.ops.grid_sample import GridSample
from clinfer.runtime.engine import Engine
from clinfer.topology import Input, Topology
from tests.network.running import network_of
from tests.ops.case_runner import execute

_F32 = ElementType.of("f32")


@pytest.mark.parametrize("outside", [-1.0, 1.0])
def test_cubic_weights_are_precise_where_they_vanish(engine: Engine, outside: float) -> None:
    """Places between one pixel and two beyond the picture's edge, each as precise as its own size."""
    beyond = np.append(np.arange(1, 64) / 64, [2**-12, 1 - 2**-12])
    places = (outside * (1.25 + beyond / 4)).astype(np.float32)
    grid = np.stack([places, np.zeros_like(places)], -1)[None, None]
    picture = np.zeros((1, 1, 1, 9), np.float32)
    picture[..., 0 if outside < 0 else -1] = 3
    wanted = 3 * -0.75 * beyond * (1 - beyond)**2
    topology = Topology(Input("x", shape=picture.shape, element_type=_F32),
                        Input("grid", shape=grid.shape, element_type=_F32),
                        GridSample("y", ("x", "grid"), mode="bicubic", padding_mode="zeros", align_corners=True))
    (result,) = execute(network_of(engine, topology), [picture, grid])
    np.testing.assert_allclose(result[0, 0, 0], wanted, rtol=1e-6)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "nearest"])
def test_pixels_that_do_not_count_are_no_part_of_the_result(engine: Engine, mode: str) -> None:
    """Places outside are 0, and those at the edge are mixed of what lies inside; pixels elsewhere are NaN."""
    picture = np.full((1, 1, 9, 9), np.nan, np.float32)
    picture[..., -4:] = 3
    places = np.linspace(0.9, 9, 160, dtype=np.float32)
    grid = np.stack([places, np.zeros_like(places)], -1)[None, None]
    topology = Topology(Input("x", shape=picture.shape, element_type=_F32),
                        Input("grid", shape=grid.shape, element_type=_F32),
                        GridSample("y", ("x", "grid"), mode=mode, padding_mode="zeros", align_corners=True))
    (result,) = execute(network_of(engine, topology), [picture, grid])
    assert np.isfinite(result).all()
    assert (result[0, 0, 0, places > 1.5] == 0).all()
