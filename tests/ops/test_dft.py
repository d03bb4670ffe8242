"""Fourier transforms against NumPy in double precision: lengths that OpenVINO's CPU plugin refuses, or at run time."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset9 as ops

from clinfer.runtime.engine import Engine
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import assert_close, ov


def _parts(values: np.ndarray) -> np.ndarray:
    return np.stack([values.real, values.imag], -1)


@pytest.mark.parametrize("size", [3, 6, 11])
def test_a_real_signal_longer_than_the_input(engine: Engine, rng: np.random.Generator, size: int) -> None:
    x = ops.parameter([-1, -1], np.float32)
    node = ops.rdft(x, np.array([1]), np.array([size]))
    network = network_of(engine, ov.Model([node], [x]))
    for shape in ((2, 6), (1, 4), (3, 1)):
        data = rng.standard_normal(shape).astype(np.float32)
        result, = execute(network, [data])
        assert_close(result, _parts(np.fft.rfft(data.astype(np.float64), size)).astype(np.float32), 1e-5)


def test_lengths_given_at_run_time(engine: Engine, rng: np.random.Generator) -> None:
    x, sizes = ops.parameter([-1, -1, -1, 2], np.float32), ops.parameter([2], np.int64)
    node = ops.irdft(x, np.array([2, 1]), sizes)
    network = network_of(engine, ov.Model([node], [x, sizes]))
    for shape, wanted in (((1, 5, 4, 2), (4, 9)), ((2, 1, 6, 2), (6, 3)), ((1, 5, 4, 2), (7, 2))):
        data = rng.standard_normal(shape).astype(np.float32)
        result, = execute(network, [data, np.array(wanted, np.int64)])
        complex_data = data.astype(np.float64) @ np.array([1, 1j])
        first = np.fft.ifft(complex_data, wanted[0], axis=2)
        expected = np.fft.irfft(first, wanted[1], axis=1)
        assert_close(result, expected.astype(np.float32), 1e-5)
