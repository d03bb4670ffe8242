"""The ceilings of devices: measured, kept on disk, and sensible whatever the measuring gave."""
from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

from clinfer.program.blobs.programs import made_with
from clinfer.runtime import capabilities, rates
from clinfer.runtime.capabilities import probe_capabilities
from clinfer.runtime.ceilings import Ceilings, are_measured, ceilings_of, default_ceilings
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.engine import Engine
from clinfer.runtime.probe_bench import INPUT, Bench
from clinfer.runtime.probes import NEEDS, PROBES
from clinfer.runtime.remeasuring import SINGLE_RATES

RATES = {"f32": 100.0, "memory": 10.0, "cache": 80.0, "launch": 2000.0, "wait": 5000.0}
TYPES = ("CPU", "GPU", "ACC")
NONSENSE = (0.0, -3.0, math.nan, math.inf, 1e30)


def answers_with(rates: Any, half: float | None = None, tensor: float | None = None,
                 **abilities: bool) -> dict[str, Any]:
    """The answers of all probes of a device that has these abilities only."""
    return {**dict.fromkeys(PROBES), "rates": rates, "half_rate": half, "tensor_rate": tensor, **abilities}


def assert_sensible(found: Ceilings, lowest: float, highest: float) -> None:
    figures = asdict(found)
    assert all(math.isfinite(figure) and figure >= 0 for figure in figures.values()), figures
    assert all(figures[name] > 0 for name in RATES), figures
    assert lowest * (1 - 1e-6) <= found.f32 / found.memory <= highest * (1 + 1e-6)
    assert found.memory <= found.cache <= 64 * found.memory * (1 + 1e-6)
    assert found.f16 == 0 or 1 / 3 - 1e-6 <= found.f16 / found.f32 <= 4 + 1e-6


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ceilings are those of the machine."""
    monkeypatch.setattr(capabilities, "ceilings_of", ceilings_of)


def test_a_device_has_ceilings(engine: Engine, measured: None) -> None:
    found = probe_capabilities(engine.device).ceilings
    assert_sensible(found, *{"CPU": (2, 60), "GPU": (4, 150), "ACC": (2, 150)}[engine.device.type])
    assert (found.tensor > 0) == engine.capabilities.tensor_cores
    assert found.f16 == 0 or engine.capabilities.fp16


def test_what_was_measured_holds() -> None:
    assert ceilings_of(answers_with(RATES), "CPU", 8) == Ceilings(
        f32=100.0, f16=0.0, tensor=0.0, bf16=0.0, tiles=0.0, memory=10.0, cache=80.0, launch=2000.0, wait=5000.0)
    found = ceilings_of(answers_with(RATES, half=180.0, tensor=1500.0, fp16=True, tensor_cores=True), "GPU", 8)
    assert (found.f16, found.tensor) == (180.0, 1500.0)
    assert ceilings_of(answers_with(RATES, bf16_products=True), "CPU", 8).bf16 == 200
    pairs = {**answers_with(RATES, bf16_products=True, tile_registers=True), "pair_rate": 47.0, "tile_rate": 1550.0}
    found = ceilings_of(pairs, "CPU", 8)
    assert (found.bf16, found.tiles) == (47.0, 1550.0)


def test_emulated_halves_are_none_and_tensor_cores_that_were_not_timed_are_estimated() -> None:
    assert ceilings_of(answers_with(RATES, half=14.0, fp16=True), "CPU", 8).f16 == 0
    found = ceilings_of(answers_with(RATES, half=190.0, fp16=True, tensor_cores=True), "GPU", 8)
    assert found.tensor == 8 * found.f16
    assert ceilings_of(answers_with(RATES, tensor_cores=True), "GPU", 8).tensor == 800


@pytest.mark.parametrize("device_type", TYPES)
@pytest.mark.parametrize("name", RATES)
@pytest.mark.parametrize("value", NONSENSE)
def test_nonsense_gives_the_defaults(device_type: str, name: str, value: float) -> None:
    answers = answers_with({**RATES, name: value}, fp16=True)
    assert not are_measured(answers)
    assert ceilings_of(answers, device_type, 6) == default_ceilings(device_type, 6, fp16=True)


@pytest.mark.parametrize("value", NONSENSE)
def test_nonsense_about_halves_is_as_if_there_were_none(value: float) -> None:
    assert ceilings_of(answers_with(RATES, half=value, fp16=True), "GPU", 6).f16 == 0


@pytest.mark.parametrize("device_type", TYPES)
def test_defaults_are_sensible(device_type: str) -> None:
    for units in (1, 2, 132):
        assert_sensible(default_ceilings(device_type, units, fp16=True, tensor_cores=True), 4, 60)


@pytest.mark.parametrize(("device_type", "lowest", "highest"), [("CPU", 2, 60), ("GPU", 4, 150), ("ACC", 2, 150)])
def test_no_disturbance_makes_decisions_silly(device_type: str, lowest: float, highest: float,
                                              rng: np.random.Generator) -> None:
    """Whatever was disturbed by however much, no figure falls below what was measured but times out of bounds."""
    for _ in range(300):
        measured = {name: float(figure * 10 ** rng.uniform(-4, 0)) for name, figure in RATES.items()}
        half = measured["f32"] * float(10 ** rng.uniform(-2, 2))
        found = ceilings_of(answers_with(measured, half=half, fp16=True), device_type, 4)
        assert_sensible(found, lowest, highest)
        assert all(getattr(found, name) >= measured[name] for name in ("f32", "memory", "cache"))
        assert 100 <= found.launch <= 1e5 and 100 <= found.wait <= 1e6


def test_arithmetic_takes_its_turns_and_reading_reads_all(device: DeviceInfo) -> None:
    """What is timed does what it is said to do: sums of all parts, and as many multiply-adds as there are turns."""
    bench = Bench(cl.Context([device.cl_device]), device.cl_device)
    queue, flags = cl.CommandQueue(bench.context, bench.device), cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    arithmetic, reading = bench.kernels("rates", "-DWIDTH=4 -DCHAINS=3", ("multiply_add", "sum_words"))
    sums = np.zeros((2, 4), np.float32)
    given = cl.Buffer(bench.context, flags, hostbuf=np.array(INPUT, np.int32))
    taken = cl.Buffer(bench.context, flags, hostbuf=sums)
    arithmetic.set_args(given, taken, np.int32(5))
    cl.enqueue_nd_range_kernel(queue, arithmetic, (2,), (1,))
    cl.enqueue_copy(queue, sums, taken)
    expected = np.array([INPUT[2], INPUT[2] + 1, INPUT[2] + 2], np.float64)
    for _ in range(5):
        expected = expected / INPUT[0] + INPUT[1]
    np.testing.assert_allclose(sums, expected.sum(), rtol=1e-5)
    words = np.arange(3 * 8 * 4, dtype=np.uint32).reshape(3, 8, 4)
    found = np.zeros((2, 4), np.uint32)
    given = cl.Buffer(bench.context, flags, hostbuf=words)
    taken = cl.Buffer(bench.context, flags, hostbuf=found)
    reading.set_args(given, taken, np.int32(2), np.int32(8), np.int32(3), np.int32(2))
    cl.enqueue_nd_range_kernel(queue, reading, (2,), (1,))
    cl.enqueue_copy(queue, found, taken)
    parts = words.sum(1)
    assert found.tolist() == [(parts[0] + parts[2]).tolist(), (parts[1] + parts[0]).tolist()]


@pytest.mark.parametrize(("value", "digits"), [(117.3, 120.0), (0.01234, 0.012), (4260.0, 4300.0)])
def test_two_digits_are_kept(value: float, digits: float) -> None:
    assert rates.rounded(value) == digits


@pytest.fixture
def store(engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder of kept answers."""
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("CLINFER_CACHE", "1")
    monkeypatch.setattr(capabilities, "_known", {})
    return tmp_path / "capabilities"


def answer(monkeypatch: pytest.MonkeyPatch, answers: dict[str, Any]) -> None:
    """Probes answer this, without a helper process."""
    monkeypatch.setattr(capabilities, "_probe_in_helper", lambda device, found: found.update(answers))


@pytest.fixture
def known(engine: Engine, measured: None) -> dict[str, Any]:
    """The device's own answers but for how fast it multiplies other types: rates far apart would mend each other."""
    probe_capabilities(engine.device)
    return {**capabilities._known[engine.device.identity], **dict.fromkeys(SINGLE_RATES)}


def test_they_are_kept_and_a_damaged_file_is_measured_again(known: dict[str, Any], store: Path, engine: Engine,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, {**known, "rates": RATES})
    first = probe_capabilities(engine.device).ceilings
    assert (first.f32, first.launch) == (100.0, 2000.0)
    answer(monkeypatch, {**known, "rates": {**RATES, "f32": 70.0}})
    capabilities._known.clear()
    assert probe_capabilities(engine.device).ceilings == first
    (file,) = store.iterdir()
    stored = json.loads(file.read_text())
    for damage in ("nonsense", {"f32": 3.0}, [1], {**RATES, "cache": "fast"}):
        file.write_text(json.dumps({**stored, "answers": {**stored["answers"], "rates": damage}}))
        capabilities._known.clear()
        assert probe_capabilities(engine.device).ceilings.f32 == 70.0


def test_a_failure_is_told_once_and_defaults_hold(known: dict[str, Any], store: Path, engine: Engine,
                                                  monkeypatch: pytest.MonkeyPatch,
                                                  capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CLINFER_DEBUG", "1")
    answer(monkeypatch, {**known, "rates": None})
    able = probe_capabilities(engine.device)
    assert able.ceilings == default_ceilings(able.device_type, able.compute_units, able.fp16, able.tensor_cores,
                                             able.bf16_products, able.tile_registers)
    capabilities._known.clear()
    assert probe_capabilities(engine.device) == able
    assert capsys.readouterr().err.count("could not be measured") == 1


def test_what_was_measured_beside_other_work_is_mended_later(known: dict[str, Any], store: Path, engine: Engine,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    """Two later processes measure again, an hour apart; what is much better counts, nothing that is worse."""
    clock = [1e9]
    monkeypatch.setattr(capabilities.time, "time", lambda: clock[0])
    now = {"rates": {**RATES, "memory": 4.0, "launch": 9000.0}}
    monkeypatch.setattr(capabilities, "_probe_in_helper", lambda device, found: found.update(
        {name: answer for name, answer in {**known, **now}.items() if name not in found}))

    def later(seconds: float, **rates: float) -> Ceilings:
        clock[0] += seconds
        now["rates"] = {**RATES, **rates}
        capabilities._known.clear()
        return probe_capabilities(engine.device).ceilings

    assert later(0, memory=4.0, launch=9000.0).memory == 4
    assert later(600).memory == 4, "too soon"
    mended = later(3600, f32=60.0, cache=90.0)
    assert (mended.memory, mended.f32, mended.cache, mended.launch) == (10.0, 100.0, 80.0, 2000.0)
    assert later(3600, memory=1.0) == mended
    assert later(1e6, memory=30.0) == mended, "often enough"


def test_what_the_device_lacks_is_not_timed(known: dict[str, Any], engine: Engine,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(capabilities, "run_probe", lambda bench, name: asked.append(name))
    monkeypatch.setattr(capabilities, "has_instructions", lambda name: True)
    answers: dict[str, Any] = {"runs": True}
    capabilities._probe_here(engine.device, answers)
    assert set(answers) == set(PROBES) and set(asked) == set(PROBES) - {"runs", *NEEDS}
    assert all(list(PROBES).index(needed) < list(PROBES).index(name) for name, needed in NEEDS.items())


def test_a_blob_does_not_ask_how_fast_the_device_was(engine: Engine) -> None:
    able = engine.capabilities
    slower = replace(able, ceilings=replace(able.ceilings, f32=able.ceilings.f32 / 2))
    assert slower != able
    assert made_with(Engine(engine.device, slower)) == made_with(engine)
