"""Specialised plans: when they are made, that nobody can tell them by results, and that failures do no harm."""
from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.kernels import specialiser as specialiser_module
from clinfer.kernels.specialiser import MOST_FAILURES, Specialiser, choose
from clinfer.network import special_plans
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.network.plan import Launch
from clinfer.network.special_plans import LONGEST_INTERVAL, SeenPlan
from clinfer.program.program import Program
from clinfer.runtime.builder import BuildJob, build_in_processes
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.engine import Engine
from clinfer.runtime.helper import HelperFailure
from clinfer.runtime.trial import Outcome, Trial
from tests.network.running import check
from tests.oracle import CpuPlugin, ov
from tests.rooms.room_runner import execute

Answering = Callable[[Trial], Outcome | None]


def last_wins(trial: Trial) -> Outcome:
    """Each contestant is twice as fast as the one before it."""
    return Outcome(tuple((1 << (len(trial.contestants) - n),) for n in range(len(trial.contestants))))


def first_wins(trial: Trial) -> Outcome:
    return Outcome(((10, 10),) + ((10, 11),) * (len(trial.contestants) - 1))


class FakeHelper:
    """Stands in for a helper process: builds here, and times as told."""

    answering: Answering = staticmethod(last_wins)
    trials = 0
    gate: threading.Event | None = None

    def __init__(self, device: DeviceInfo, niceness: int = 0) -> None:
        self._device = device

    def request(self, message: tuple[Any, ...], timeout: float) -> Any:
        if message[0] == "trial":
            FakeHelper.trials += 1
            if FakeHelper.gate is not None:
                assert FakeHelper.gate.wait(60)
            return FakeHelper.answering(message[1])
        result, = build_in_processes(self._device, [BuildJob(*message[1:])])
        return result.binary, result.error

    def close(self) -> None:
        pass


@pytest.fixture
def background(engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Specialiser]:
    """A specialiser of the test's own, with a fake helper and an empty cache on disk."""
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(specialiser_module, "Helper", FakeHelper)
    monkeypatch.setattr(FakeHelper, "answering", staticmethod(last_wins))
    monkeypatch.setattr(FakeHelper, "trials", 0)
    monkeypatch.setattr(FakeHelper, "gate", None)
    own = Specialiser(engine)
    monkeypatch.setattr(special_plans, "specialiser_of", lambda _: own)
    yield own
    own.close()


def products(rng: np.random.Generator) -> ov.Model:
    """Matrix products with constant weights, one of them behind a tail, and a softmax."""
    x = ops.parameter([-1, -1, 32], np.float32)
    first = ops.relu(ops.matmul(x, ops.constant(rng.standard_normal((32, 48)).astype(np.float32)), False, False))
    second = ops.matmul(first, ops.constant(rng.standard_normal((32, 48)).astype(np.float32) / 7), False, True)
    return ov.Model([ops.softmax(ops.add(second, x), -1)], [x])


def convolutions(rng: np.random.Generator) -> ov.Model:
    x = ops.parameter([-1, 16, -1, -1], np.float32)

    def layer(node: ov.Node, *shape: int) -> ov.Node:
        weights = ops.constant(rng.standard_normal(shape).astype(np.float32) / 12)
        return ops.relu(ops.convolution(node, weights, [1, 1], [1, 1], [1, 1], [1, 1]))
    return ov.Model([layer(layer(x, 32, 16, 3, 3), 16, 32, 3, 3)], [x])


def program_of(engine: Engine, model: ov.Model) -> Program:
    return compile_topology(engine, to_topology(model).topology, OpenVinoShapeInference())


def network_of(program: Program, after: int = 1, profiling: bool = False) -> Network:
    return Network(program, program.engine.create_stream(profiling=profiling), OpenVinoShapeInference(), profiling,
                   specialise_after=after)


def seen(network: Network) -> list[SeenPlan]:
    return list(network._plans.values())


def special_launches(network: Network, plan: SeenPlan) -> int:
    """Launches of kernels that the network got after it was made."""
    first = len(network._bindings.kernel_index)
    return sum(isinstance(step, Launch) and step.kernel >= first for step in plan.plan.steps)


def run_all(network: Network, oracle: CpuPlugin, shapes: Sequence[tuple[int, ...]], rng: np.random.Generator) -> None:
    for shape in shapes:
        check(network, oracle, [rng.standard_normal(shape).astype(np.float32)])


MODELS = {"products": (products, ((2, 9, 32), (1, 1, 32), (3, 16, 32), (1, 14, 32), (2, 0, 32), (2, 5, 32))),
          "convolutions": (convolutions, ((1, 16, 9, 20), (2, 16, 1, 1), (1, 16, 30, 3), (1, 16, 8, 8)))}


@pytest.mark.parametrize("kind", MODELS)
def test_specialised_shapes_give_the_same(engine: Engine, rng: np.random.Generator, background: Specialiser,
                                          kind: str) -> None:
    make, shapes = MODELS[kind]
    model = make(rng)
    network, oracle = network_of(program_of(engine, model)), CpuPlugin(model)
    run_all(network, oracle, (*shapes, *shapes), rng)
    assert background.wait(120)
    for _ in range(9):
        run_all(network, oracle, shapes, rng)
    assert any(special_launches(network, plan) for plan in seen(network))
    assert all(plan.countdown == 0 for plan in seen(network)), "all is answered, nothing is looked at any more"
    assert network.plans_made == len(shapes)


def test_a_plan_changes_at_a_later_inference(engine: Engine, rng: np.random.Generator, background: Specialiser,
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeHelper, "gate", threading.Event())
    model = products(rng)
    network, oracle = network_of(program_of(engine, model), after=6), CpuPlugin(model)
    for times in range(3):
        run_all(network, oracle, [(2, 9, 32)], rng)
        assert seen(network)[0].answers is None, f"asked too early, in check {times} of two inferences each"
    run_all(network, oracle, [(2, 9, 32)] * 12, rng)
    before = seen(network)[0].plan
    assert seen(network)[0].answers and not all(a.settled for a in seen(network)[0].answers.values())
    FakeHelper.gate.set()  # type: ignore[attr-defined]
    assert background.wait(120)
    assert seen(network)[0].plan is before, "nothing changes outside an inference"
    run_all(network, oracle, [(2, 9, 32)] * 8, rng)
    assert seen(network)[0].plan is not before and special_launches(network, seen(network)[0])


def test_what_is_not_faster_is_not_kept(engine: Engine, rng: np.random.Generator, background: Specialiser,
                                        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeHelper, "answering", staticmethod(first_wins))
    model = products(rng)
    network, oracle = network_of(program_of(engine, model)), CpuPlugin(model)
    run_all(network, oracle, [(2, 9, 32)] * 2, rng)
    plan = seen(network)[0].plan
    assert background.wait(120)
    run_all(network, oracle, [(2, 9, 32)] * 8, rng)
    assert FakeHelper.trials and seen(network)[0].plan is plan and seen(network)[0].countdown == 0


@pytest.mark.parametrize(("times", "winner"), [
    ([(100, 100), (96, 96)], 1), ([(100, 100), (98, 98)], 0), ([(100, 104, 104), (50, 104, 104)], 0),
    ([(100, 100), None, (90, 90)], 2), ([None, (10, 10)], 0), ([(100, 100), (90, 90), (89, 89)], 1),
    ([(100, 100), (90, 90), (80, 80)], 2), ([(100, 100)], 0)])
def test_the_winner_is_clearly_faster(times: list[tuple[int, ...] | None], winner: int) -> None:
    assert choose(Outcome(tuple(times))) == winner


def test_networks_of_a_program_share_answers(engine: Engine, rng: np.random.Generator,
                                             background: Specialiser) -> None:
    model = products(rng)
    program, oracle = program_of(engine, model), CpuPlugin(model)
    first, second = network_of(program), network_of(program)
    run_all(first, oracle, [(2, 9, 32)] * 2, rng)
    assert background.wait(120)
    asked = FakeHelper.trials
    assert asked
    run_all(second, oracle, [(2, 9, 32)] * 2, rng)
    assert special_launches(second, seen(second)[0]), "taken over at the first look"
    run_all(second, oracle, [(2, 9, 32)] * 2, rng)
    assert FakeHelper.trials == asked


def test_neighbouring_rows_share_a_question(engine: Engine, rng: np.random.Generator,
                                            background: Specialiser) -> None:
    x = ops.parameter([-1, 40], np.float32)
    model = ov.Model([ops.matmul(x, ops.constant(rng.standard_normal((40, 64)).astype(np.float32)), False, False)], [x])
    program = program_of(engine, model)
    network, oracle = network_of(program), CpuPlugin(model)
    shapes = [(rows, 40) for rows in range(17, 25)]
    for _ in range(2):
        run_all(network, oracle, shapes, rng)
        assert background.wait(120)
    assert FakeHelper.trials <= len(program.nodes[-1].implementations) + 1
    for _ in range(8):
        run_all(network, oracle, shapes, rng)
    assert sum(bool(special_launches(network, plan)) for plan in seen(network)) > 1


def _dies(trial: Trial) -> Outcome:
    raise HelperFailure("killed by the test")


@pytest.mark.parametrize("answering", [_dies, lambda trial: None, lambda trial: Outcome(
    ((10, 10), *(None,) * (len(trial.contestants) - 1)), ("nonsense in the source",))], ids=["dies", "no-room", "log"])
def test_failures_change_nothing_and_are_told_once(engine: Engine, rng: np.random.Generator, background: Specialiser,
                                                   monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
                                                   answering: Answering) -> None:
    monkeypatch.setattr(FakeHelper, "answering", staticmethod(answering))
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
    assert not seen(network)[0].answers and seen(network)[0].countdown > 0 and not len(network.program.implementations)
    monkeypatch.setattr(specialiser_module, "QUEUE_CAPACITY", 8)
    run_all(network, oracle, [(2, 9, 32)] * 4, rng)
    assert background.wait(120)
    run_all(network, oracle, [(2, 9, 32)] * LONGEST_INTERVAL, rng)
    assert special_launches(network, seen(network)[0])


def test_verdicts_and_kernels_are_kept_on_disk(engine: Engine, rng: np.random.Generator, background: Specialiser,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    model = products(rng)
    oracle = CpuPlugin(model)
    for _ in range(2):
        network = network_of(program_of(engine, model))
        run_all(network, oracle, [(2, 9, 32)] * 2, rng)
        assert background.wait(120)
        run_all(network, oracle, [(2, 9, 32)] * 4, rng)
        assert special_launches(network, seen(network)[0])
        monkeypatch.setattr(FakeHelper, "answering", staticmethod(_dies))


def test_without_it_nothing_is_asked(engine: Engine, rng: np.random.Generator, background: Specialiser) -> None:
    model = products(rng)
    network, oracle = network_of(program_of(engine, model), after=0), CpuPlugin(model)
    run_all(network, oracle, [(2, 9, 32)] * 9, rng)
    assert not len(network.program.implementations) and background._thread is None


def test_profiles_name_specialised_kernels(engine: Engine, rng: np.random.Generator, background: Specialiser) -> None:
    model = products(rng)
    network, oracle = network_of(program_of(engine, model), profiling=True), CpuPlugin(model)
    run_all(network, oracle, [(2, 9, 32)] * 2, rng)
    assert background.wait(120)
    run_all(network, oracle, [(2, 9, 32)] * 4, rng)
    network.start_profile()
    execute(network, [rng.standard_normal((2, 9, 32)).astype(np.float32)])
    kernels = {row.primitive: row.kernel for row in network.profile() if row.status == "executed"}
    names = {answer.faster.spec.name for answer in seen(network)[0].answers.values() if answer.faster}  # type: ignore
    assert names and names <= set(kernels.values())


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
    environment = {"PATH": "/usr/bin:/bin", "CLINFER_CACHE_DIR": str(tmp_path),
                   "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    ended = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, timeout=120, text=True)
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr
