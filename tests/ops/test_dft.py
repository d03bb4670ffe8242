"""Fourier transforms against NumPy in double precision: lengths that OpenVINO's CPU plugin refuses, or at run time."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset9 as ops

from clinfer.network.network import Network
from clinfer.program.options import BuildOptions
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


def _on_lines(engine: Engine, node: ov.Node, x: ov.Node, lanes: str) -> Network:
    """A network of a transform by passes over so many lines at once."""
    options = BuildOptions({"transform": ("", f"fourier_lines_{lanes}")}, frozenset({"alias_buffers"}))
    node.set_friendly_name("transform")
    return network_of(engine, ov.Model([node], [x]), options)


def _lanes(engine: Engine) -> tuple[str, str]:
    if engine.capabilities.device_type != "CPU":
        pytest.skip("passes are for CPUs")
    return ("16" if engine.capabilities.vector_floats >= 16 else "8"), "1"


@pytest.mark.parametrize("inverse", [False, True])
def test_lengths_of_any_factors(engine: Engine, rng: np.random.Generator, inverse: bool) -> None:
    """Powers of two, odd ones, products of both and primes, of numbers of lines that fill vectors and others."""
    lengths = (1, 2, 3, 4, 5, 7, 8, 9, 12, 30, 49, 64, 77, 101, 128, 225, 512, 1000, int(rng.integers(2, 400)))
    for lanes in _lanes(engine):
        x = ops.parameter([-1, -1, -1, 2], np.float32)
        network = _on_lines(engine, (ops.idft if inverse else ops.dft)(x, np.array([1])), x, lanes)
        for length in rng.permutation(lengths):
            data = rng.standard_normal((int(rng.integers(1, 4)), length, int(rng.integers(1, 40)), 2))
            result, = execute(network, [data.astype(np.float32)])
            expected = _parts((np.fft.ifft if inverse else np.fft.fft)(data @ np.array([1, 1j]), axis=1))
            assert_close(result.astype(np.float64), expected, 1e-6, f"{data.shape}")


def test_real_signals_and_spectra_of_any_length(engine: Engine, rng: np.random.Generator) -> None:
    for lanes in _lanes(engine):
        x, halves = ops.parameter([-1, -1], np.float32), ops.parameter([-1, -1, 2], np.float32)
        forth = _on_lines(engine, ops.rdft(x, np.array([-1])), x, lanes)
        back = _on_lines(engine, ops.irdft(halves, np.array([-1])), halves, lanes)
        for length in (2, 6, 31, 90, 256, int(rng.integers(3, 300))):
            lines = int(rng.integers(1, 30))
            data = rng.standard_normal((lines, length))
            result, = execute(forth, [data.astype(np.float32)])
            assert_close(result.astype(np.float64), _parts(np.fft.rfft(data)), 1e-6, f"{data.shape}")
            spectra = rng.standard_normal((lines, length, 2))
            result, = execute(back, [spectra.astype(np.float32)])
            assert_close(result.astype(np.float64), np.fft.irfft(spectra @ np.array([1, 1j])), 1e-6, f"{length}")


@pytest.mark.parametrize("size", [1, 4, 5, 9, 12])
def test_spectra_that_are_cut_or_filled_up(engine: Engine, rng: np.random.Generator, size: int) -> None:
    for lanes in _lanes(engine):
        x = ops.parameter([-1, -1, 2], np.float32)
        network = _on_lines(engine, ops.irdft(x, np.array([1]), np.array([size])), x, lanes)
        for known in (1, 2, 3, 7, 20):
            data = rng.standard_normal((9, known, 2))
            result, = execute(network, [data.astype(np.float32)])
            assert_close(result.astype(np.float64), np.fft.irfft(data @ np.array([1, 1j]), size), 1e-6, f"{known}")


def test_what_is_no_number_stays_in_its_line(engine: Engine, rng: np.random.Generator) -> None:
    lanes, _ = _lanes(engine)
    x = ops.parameter([-1, -1], np.float32)
    network = _on_lines(engine, ops.rdft(x, np.array([-1])), x, lanes)
    data = rng.standard_normal((11, 24)).astype(np.float32)
    data[4, 3] = np.nan
    result, = execute(network, [data])
    others = np.arange(11) != 4
    assert np.isnan(result[4]).any()
    assert_close(result[others].astype(np.float64), _parts(np.fft.rfft(data[others].astype(np.float64))), 1e-6)
