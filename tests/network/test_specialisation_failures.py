"""Specialisation that fails, has no room, or must end: results stay, and nothing is left behind."""
from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from clinfer.kernels import specialiser as specialiser_module
from clinfer.kernels.specialiser import MOST_FAILURES, Specialiser
from clinfer.network.plans import special_plans
from clinfer.network.plans.special_plans import LONGEST_INTERVAL
from clinfer.ops.matmul import MatMul
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.engine import Engine
from clinfer.runtime.helper import HelperFailure
from clinfer.runtime.trial import Trial, TrialCandidate, TrialResult
from tests.network.specialising import (
    FakeHelper,
    Timing,
    convolutions,
    last_wins,
    network_of,
    products,
    program_of,
    run_all,
    seen,
    special_launches,
)
from tests.oracle import CpuPlugin
from tests.program.refusing import NONSENSE, add_source, add_twin


def _dies(trial: Trial) -> TrialResult:
    raise HelperFailure("killed by the test")


@pytest.mark.parametrize("timing", [_dies, lambda trial: None, lambda trial: TrialResult(
    ((10, 10), *(None,) * (len(trial.candidates) - 1)), ("nonsense in the source",)), lambda trial: TrialResult(
    ((10, 10), *((1, 1),) * (len(trial.candidates) - 1)), is_disturbed=True)],
    ids=["dies", "no-room", "log", "disturbed"])
def test_failures_change_nothing_and_are_told_once(engine: Engine, rng: np.random.Generator, background: Specialiser,
                                                   monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
                                                   timing: Timing) -> None:
    monkeypatch.setattr(FakeHelper, "timing", staticmethod(timing))
    model = products(rng)
    network, oracle = network_of(program_of(engine, model)), CpuPlugin(model)
    monkeypatch.setenv("CLINFER_DEBUG", "1")
    run_all(network, oracle, [(2, 9, 32)] * 2, rng)
    plan = seen(network)[0].plan
    assert background.wait(120)
    told = capfd.readouterr().err
    assert "keeps its kernel" in told
    run_all(network, oracle, [(2, 9, 32)] * 12, rng)
    assert seen(network)[0].plan is plan and seen(network)[0].countdown == 0
    assert "keeps its kernel" not in capfd.readouterr().err
    assert FakeHelper.trials <= MOST_FAILURES + 1


@pytest.mark.parametrize("dies", [True, False], ids=["crash", "log"])
def test_kernels_that_cannot_be_built_are_left_out_of_later_trials(
        engine: Engine, rng: np.random.Generator, background: Specialiser, monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path, dies: bool) -> None:
    def is_broken(way: TrialCandidate) -> bool:
        return any(mark in job.source for job in way.programs)

    def answer(trial: Trial) -> TrialResult:
        broken.append(sum(map(is_broken, trial.candidates)))
        if dies and broken[-1]:
            raise HelperFailure("killed by the compiler")
        times = last_wins(trial).times
        return TrialResult(tuple(None if is_broken(way) else time
                             for way, time in zip(trial.candidates, times, strict=True)), ("refused",))
    broken: list[int] = []
    mark = f"nonsense_{dies}"
    model = products(rng)
    network, oracle = network_of(program_of(engine, model)), CpuPlugin(model)
    add_source(monkeypatch, tmp_path, "broken.cl", NONSENSE.replace("nonsense", mark))
    add_twin(monkeypatch, MatMul, "matmul_broken", source="broken.cl")
    monkeypatch.setattr(FakeHelper, "timing", staticmethod(answer))
    for shape in ((2, 9, 32), (2, 40, 32)):
        run_all(network, oracle, [shape] * 2, rng)
        assert background.wait(120)
        run_all(network, oracle, [shape] * 4, rng)
    assert broken[0] and not broken[-1] and special_launches(network, seen(network)[-1])


def test_a_build_that_fails_changes_nothing(engine: Engine, rng: np.random.Generator, background: Specialiser,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    request = FakeHelper.request
    monkeypatch.setattr(FakeHelper, "request", lambda self, message, timeout: request(self, message, timeout)
                        if message[0] == "trial" else (None, "the compiler gave up"))
    model = convolutions(rng)
    network, oracle = network_of(program_of(engine, model)), CpuPlugin(model)
    run_all(network, oracle, [(1, 16, 9, 20)] * 2, rng)
    assert background.wait(120)
    run_all(network, oracle, [(1, 16, 9, 20)] * 9, rng)
    assert seen(network)[0].countdown == 0


def test_a_full_queue_is_asked_again(engine: Engine, rng: np.random.Generator, background: Specialiser,
                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(specialiser_module, "QUEUE_CAPACITY", 0)
    model = products(rng)
    network, oracle = network_of(program_of(engine, model)), CpuPlugin(model)
    run_all(network, oracle, [(2, 9, 32)] * 3, rng)
    assert not seen(network)[0].results and seen(network)[0].countdown > 0 and not len(network.program.implementations)
    monkeypatch.setattr(specialiser_module, "QUEUE_CAPACITY", 8)
    run_all(network, oracle, [(2, 9, 32)] * 4, rng)
    assert background.wait(120)
    run_all(network, oracle, [(2, 9, 32)] * LONGEST_INTERVAL, rng)
    assert special_launches(network, seen(network)[0])


def test_times_and_kernels_are_kept_on_disk(engine: Engine, rng: np.random.Generator, background: Specialiser,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    model = products(rng)
    oracle = CpuPlugin(model)
    for _ in range(2):
        network = network_of(program_of(engine, model))
        run_all(network, oracle, [(2, 9, 32)] * 2, rng)
        assert background.wait(120)
        run_all(network, oracle, [(2, 9, 32)] * 4, rng)
        assert special_launches(network, seen(network)[0])
        monkeypatch.setattr(FakeHelper, "timing", staticmethod(_dies))


def test_real_helpers_time_and_build(engine: Engine, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch,
                                     tmp_path: Path) -> None:
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(specialiser_module, "MARGIN", 1e9)
    own = Specialiser(engine)
    monkeypatch.setattr(special_plans, "specialiser_of", lambda _: own)
    model = products(rng)
    network, oracle = network_of(program_of(engine, model)), CpuPlugin(model)
    run_all(network, oracle, [(2, 9, 32)] * 2, rng)
    assert own.wait(120)
    helper = own._helper
    assert helper is not None and helper._process.poll() is None
    run_all(network, oracle, [(2, 9, 32)] * 4, rng)
    assert special_launches(network, seen(network)[0])
    own.close()
    assert helper._process.poll() is not None and own._thread is None


def test_the_end_of_a_process_does_not_wait(device: DeviceInfo, tmp_path: Path) -> None:
    script = textwrap.dedent(f"""
        import numpy as np
        import clinfer as ov
        from openvino import opset13 as ops
        from clinfer.kernels.specialiser import specialiser_of
        x = ops.parameter([-1, 32], np.float32)
        weights = ops.constant(np.ones((32, 48), np.float32))
        model = ov.Model([ops.matmul(x, weights, False, False)], [x])
        compiled = ov.Core().compile_model(model, {device.name!r}, {{"SPECIALIZE_AFTER": 1}})
        for _ in range(3):
            compiled(np.ones((5, 32), np.float32))
        assert specialiser_of(compiled.engine)._thread is not None
        print("done", flush=True)
        """)
    environment = {**os.environ, "CLINFER_CACHE_DIR": str(tmp_path),
                   "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    ended = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, timeout=120, text=True)
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr
