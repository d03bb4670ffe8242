"""Specialised plans: when they are made, and that nobody can tell them by results."""
from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.kernels.specialiser import Specialiser, choose
from clinfer.network.compile import compile_topology
from clinfer.network.reports.execution_log import Page
from clinfer.ops.matmul.kernels.floats import FloatsKernel
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from clinfer.runtime.trial import Trial, TrialLaunch, TrialResult
from tests.network.running import run_once
from tests.network.specialising import (
    FAKE_NS,
    FakeHelper,
    convolutions,
    first_wins,
    launched,
    network_of,
    products,
    program_of,
    run_all,
    seen,
    special_launches,
)
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, ov

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
    assert all(plan.countdown == 0 for plan in seen(network)), "all is settled, nothing is looked at any more"
    assert network.plans_made == len(shapes)


def test_released_memory_takes_specialised_kernels_along(engine: Engine, rng: np.random.Generator,
                                                         background: Specialiser) -> None:
    """What was noted of them can still be told, the picture of memory is gone, and they come back."""
    make, shapes = MODELS["products"]
    model = make(rng)
    network, oracle = network_of(program_of(engine, model)), CpuPlugin(model)
    run_all(network, oracle, (*shapes, *shapes), rng)
    assert background.wait(120)
    for _ in range(9):
        run_all(network, oracle, shapes, rng)
    execute(network, [rng.standard_normal(shapes[0]).astype(np.float32)])
    run_once(network, [rng.standard_normal(shapes[1]).astype(np.float32)])
    page = Page(tuple(network._execution_log.notes))
    for _ in range(2):
        network.release_memory()
        assert network.memory_picture() is None
        assert any(node.form == "specialised" for segment in page.tell().segments for node in segment.nodes)
        for _ in range(9):
            run_all(network, oracle, shapes, rng)
        assert any(special_launches(network, plan) for plan in seen(network))


def test_a_plan_changes_at_a_later_inference(engine: Engine, rng: np.random.Generator, background: Specialiser,
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeHelper, "gate", threading.Event())
    model = products(rng)
    network, oracle = network_of(program_of(engine, model), after=6), CpuPlugin(model)
    for times in range(3):
        run_all(network, oracle, [(2, 9, 32)], rng)
        assert seen(network)[0].results is None, f"given too early, in check {times} of two inferences each"
    run_all(network, oracle, [(2, 9, 32)] * 12, rng)
    before = seen(network)[0].plan
    assert seen(network)[0].results and not all(a.settled for a in seen(network)[0].results.values())
    FakeHelper.gate.set()  # type: ignore[attr-defined]
    assert background.wait(120)
    assert seen(network)[0].plan is before, "nothing changes outside an inference"
    run_all(network, oracle, [(2, 9, 32)] * 8, rng)
    assert seen(network)[0].plan is not before and special_launches(network, seen(network)[0])


def test_kernels_change_at_once_where_launches_are_joined(engine: Engine, rng: np.random.Generator,
                                                          background: Specialiser) -> None:
    """A megakernel would else be built for each task that is done."""
    model = products(rng)
    network, oracle = network_of(program_of(engine, model)), CpuPlugin(model)
    special = network._special
    assert special is not None
    special._is_at_once = True
    run_all(network, oracle, [(2, 9, 32)] * 2, rng)
    assert background.wait(120)
    before, results = seen(network)[0].plan, list((seen(network)[0].results or {}).values())
    assert len(results) > 1
    results[-1].settled = False
    run_all(network, oracle, [(2, 9, 32)] * 12, rng)
    assert seen(network)[0].plan is before and seen(network)[0].countdown
    results[-1].settled = True
    run_all(network, oracle, [(2, 9, 32)] * 32, rng)
    assert special_launches(network, seen(network)[0]) and seen(network)[0].countdown == 0


def test_what_is_not_faster_is_not_kept(engine: Engine, rng: np.random.Generator, background: Specialiser,
                                        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeHelper, "timing", staticmethod(first_wins))
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
    assert choose(TrialResult(tuple(times))) == winner


def test_networks_of_a_program_share_results(engine: Engine, rng: np.random.Generator,
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


def test_neighbouring_rows_share_a_task(engine: Engine, rng: np.random.Generator,
                                            background: Specialiser) -> None:
    x = ops.parameter([-1, 40], np.float32)
    product = ops.matmul(x, ops.constant(rng.standard_normal((40, 64)).astype(np.float32)), False, False)
    # Weights of such size leave memory for a copy of the first ones in the format of another kernel.
    spare = ops.matmul(product, ops.constant(rng.standard_normal((64, 64 * 16)).astype(np.float32)), False, False)
    model = ov.Model([product, spare], [x])
    program = program_of(engine, model)
    network, oracle = network_of(program), CpuPlugin(model)
    shapes = [(rows, 40) for rows in range(17, 25)]
    for _ in range(2):
        run_all(network, oracle, shapes, rng)
        assert background.wait(120)
    assert FakeHelper.trials <= sum(len(node.implementations) + 1 for node in program.nodes if node.implementations)
    for _ in range(8):
        run_all(network, oracle, shapes, rng)
    assert sum(bool(special_launches(network, plan)) for plan in seen(network)) > 1


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
    kernels = {row.kernel for row in network.profile() if row.status == "executed"}
    plan, = seen(network)
    assert special_launches(network, plan) and kernels == launched(network, plan)


def _vector_wins_few_rows(trial: Trial) -> TrialResult:
    """The kernel that takes one row at a time is the fastest for up to 4 rows."""
    def is_fast(launch: TrialLaunch) -> bool:
        return launch.entry.startswith("matmul_vector") and launch.global_size[1] <= 4
    return TrialResult(tuple((FAKE_NS if is_fast(way.launches[-1]) else 10 * FAKE_NS,) for way in trial.candidates))


def test_a_kernel_that_wants_other_weights_gets_them(engine: Engine, rng: np.random.Generator, background: Specialiser,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    if engine.device.type != "CPU":
        pytest.skip("no kernel there wants the weights in another format")
    # Beside assembly, which has tiles of few rows on some CPUs, that for one row is not tried.
    monkeypatch.setattr(FloatsKernel, "targets", lambda *_: "left out")
    monkeypatch.setattr(FakeHelper, "timing", staticmethod(_vector_wins_few_rows))
    x = ops.parameter([-1, 40], np.float32)
    weights = ops.constant(rng.standard_normal((64, 40)).astype(np.float32))
    bias = ops.constant(rng.standard_normal((1, 64)).astype(np.float32))
    spare = ops.constant(rng.standard_normal((64, 64 * 16)).astype(np.float32))
    y = ops.add(ops.matmul(x, weights, False, True), bias)
    model = ov.Model([ops.relu(y), ops.matmul(y, spare, False, False)], [x])
    program, oracle = program_of(engine, model), CpuPlugin(model)
    networks = [network_of(program) for _ in range(2)]
    shapes = [(2, 40), (40, 40), (3, 40)]
    held = 0
    for network in networks:
        run_all(network, oracle, shapes * 2, rng)
        assert background.wait(120)
        run_all(network, oracle, shapes * 4, rng)
        few = [special_launches(network, plan) for plan in seen(network)]
        assert few[0] and few[2] and not few[1], "only few rows are served by it"
        assert held in (0, program.weights.owned_bytes), "networks share what was reordered"
        held = program.weights.owned_bytes
    assert held == weights.data.nbytes


def test_only_the_format_in_use_is_held(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([-1, 128], np.float32)
    weights = rng.standard_normal((128, 256)).astype(np.float32)
    model = ov.Model([ops.matmul(x, ops.constant(weights), False, False)], [x])
    gc.collect()
    before = engine.ledger.current
    program = program_of(engine, model)
    gc.collect()
    assert engine.ledger.current - before == weights.nbytes
    held = [found for found in gc.get_objects() if isinstance(found, np.ndarray) and found.nbytes == weights.nbytes]
    assert all(found is weights for found in held) and program.weights.owned_bytes == 0


def test_a_forced_kernel_stays(engine: Engine, rng: np.random.Generator, background: Specialiser) -> None:
    x = ops.parameter([-1, 40], np.float32)
    product = ops.matmul(x, ops.constant(rng.standard_normal((40, 64)).astype(np.float32)), False, False)
    product.set_friendly_name("product")
    model = ov.Model([product], [x])
    topology = to_topology(model).topology
    name = next(p.id for p in topology if type(p).__name__ == "MatMul")
    program = compile_topology(engine, topology, OpenVinoShapeInference(), BuildOptions({name: ("", "matmul_ref")}))
    network, oracle = network_of(program), CpuPlugin(model)
    run_all(network, oracle, [(9, 40)] * 8, rng)
    assert background._thread is None and seen(network)[0].countdown == 0
