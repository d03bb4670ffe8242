"""Trials of the kernels of real problems: on the numbers that inputs hold there, all give what the reference gives."""
from __future__ import annotations

import random
from importlib import import_module

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.kernels import tuner
from clinfer.kernels.implementation import generate
from clinfer.kernels.kernel_cache import kernel_cache_of
from clinfer.kernels.tuner import able_candidates, reference_of, trial_of, worth_timing
from clinfer.ops import kernels_of
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.matmul import MatMul
from clinfer.ops.operation import Case
from clinfer.program.heavy_problems import heavy_problems
from clinfer.program.options import BuildOptions
from clinfer.runtime import trial
from clinfer.runtime.engine import Engine
from clinfer.runtime.trial import TrialBench
from clinfer.topology import Primitive, Topology
from tests.ops.case_runner import Variant, needs, topology_of
from tests.ops.test_specialised import HEAVY
from tests.program.building import constant, context_of, given
from tests.program.test_store_on_grids import CHANNELS, convolution, rounded
from tests.seeds import seed_of

SAMPLES = 2


def check(engine: Engine, topology: Topology) -> int:
    """How many problems of a topology have candidates that were compared; all gave the same."""
    kernels, bench, compared = kernel_cache_of(engine), TrialBench(engine.cl_context, engine.device.cl_device), 0
    for name, problem in heavy_problems(topology, context_of(engine)):
        able = able_candidates(kernels_of(problem.primitive), problem)
        candidates = [generate(each, each.in_own_formats(problem)) for each in worth_timing(able, problem)]
        found = bench.run(trial_of(candidates, problem, reference_of(able, problem), kernels))
        assert not found.wrong and not found.errors, (name, [each.name for each in candidates], found)
        compared += len(candidates) > 1
    return compared


@pytest.fixture(autouse=True)
def only_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is timed, and no kernel left out for what was found before."""
    monkeypatch.setattr(tuner, "wrong_results", lambda *_: None)
    monkeypatch.setattr(TrialBench, "_times", lambda self, ready, *_: (None,) * len(ready))


def _rows() -> list[tuple[str, Case]]:
    chooser = random.Random(seed_of("trials"))
    return [(op, case) for op in HEAVY
            for case in chooser.sample(import_module(f"clinfer.ops.{op}.cases").CASES, SAMPLES)]


@pytest.mark.parametrize(("op", "case"), _rows(), ids=lambda value: value if isinstance(value, str) else value.name)
def test_rows(engine: Engine, op: str, case: Case) -> None:
    if not needs(case, engine):
        pytest.skip("the device lacks a type")
    if not check(engine, topology_of(case, Variant())):
        pytest.skip("nothing but the reference computes it")


@pytest.mark.parametrize("kernel", [each.name for each in kernels_of(MatMul("y", ("x", "w"))).kernels])
def test_what_is_tuned_does_not_depend_on_what_is_chosen(engine: Engine, rng: np.random.Generator, kernel: str,
                                                         ) -> None:
    """Else what was timed would be another problem once its times decide."""
    weights = constant("w", rng.uniform(-1, 1, (48, 32)).astype(np.float32))
    topology = Topology(given("x", 9, 32), weights, MatMul("y", ("x", "w"), transpose_b=True))
    try:
        (_, forced), = heavy_problems(topology, context_of(engine, BuildOptions({"y": ("", kernel)})))
    except ClinferError as error:
        pytest.skip(error.what)
    assert all(layout.format.is_planar for layout in forced.inputs + forced.outputs)


def _product(rng: np.random.Generator, transpose: bool) -> list[Primitive]:
    weights = (rng.integers(-127, 128, (24, 40)) * rng.uniform(0.01, 0.02, (24, 1))).astype(np.float32)
    return [*rounded("second", "relu", 0.0, 2.55), constant("w", weights if transpose else weights.T.copy()),
            MatMul("y", ("second", "w"), transpose_b=transpose)]


@pytest.mark.parametrize("is_stored", [False, True])
def test_products_of_whole_numbers(engine: Engine, rng: np.random.Generator, is_stored: bool) -> None:
    """Of data that are stored as bytes, and of floats that are whole numbers times a step."""
    if not engine.capabilities.multiplies_bytes:
        pytest.skip("the device has no instructions for bytes")
    relu = Eltwise("relu", ("x",), mode="Relu")
    read = [] if is_stored else [Eltwise("read", ("second",), mode="Relu")]
    convolved = [*rounded("second", "x"), *convolution(rng, "a", "second")]
    pictures = Topology(given("x", 2, CHANNELS, 9, 17), *convolved, *read)
    assert check(engine, pictures) == 1
    for transpose in (False, True):
        assert check(engine, Topology(given("x", 2, 19, 40), relu, *_product(rng, transpose), *read)) == 1


@pytest.mark.parametrize("count, value, may_jump, is_told", [
    (5, 0.5, True, False), (5, 0.5, False, True), (50, 0.5, True, True), (1, np.nan, True, True),
    (1, 1e-5, False, False)])
def test_few_results_may_jump_behind_fused_operations(count: int, value: float, may_jump: bool, is_told: bool) -> None:
    right = np.linspace(0, 1, 10_000, dtype=np.float32)
    got = right.copy()
    got[:count] += value
    kind = ElementType.of("f32")
    assert bool(trial.apart(kind, got, right, may_jump)) == is_told
