"""Sums of hundreds of thousands of elements keep their digits, whichever kernel adds them."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import Model
from openvino import opset13 as op

from clinfer.runtime.engine import Engine
from tests.ops.case_runner import execute
from tests.ops.on_tensor_cores import kernels_of, network_of

_LONG = 500_000


@pytest.mark.parametrize("kernel, shape, axis", [
    ("reduce_columns", (_LONG, 3), 0), ("reduce_columns", (_LONG, 16), 0), ("reduce_ref", (_LONG, 2), 0),
    ("reduce_columns_shared_1", (_LONG, 3), 0), ("reduce_columns_shared_4_sliced", (_LONG, 16), 0),
    ("reduce_rows", (3, _LONG), 1)])
def test_means_of_many_elements(engine: Engine, rng: np.random.Generator, kernel: str, shape: tuple[int, int],
                                axis: int) -> None:
    x = op.parameter([-1 if number == axis else size for number, size in enumerate(shape)], np.float32)
    mean = op.reduce_mean(x, op.constant(np.array([axis])), False, name="tiled")
    network = network_of(engine, Model([op.result(mean)], [x], "mean"), kernel)
    assert kernel in kernels_of(network.program)
    for length in (_LONG, 7, 1025):
        given = rng.uniform(100, 101, [length if size == _LONG else size for size in shape]).astype(np.float32)
        np.testing.assert_allclose(execute(network, [given])[0], given.mean(axis, np.float64), rtol=1e-5)
