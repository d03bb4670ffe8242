"""Measured times in the choice of kernels, kernels with wrong results, and the trials that find out about both."""
from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from clinfer.base import tracing
from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    Kernel,
    KernelTable,
    Lowered,
    Problem,
    Stage,
    Work,
    input_operand,
    output_operand,
)
from clinfer.kernels.implementation import generate
from clinfer.kernels.kernel_cache import LoadedKernels, kernel_cache_of
from clinfer.kernels.selector import cheapest, select
from clinfer.kernels.specialisation import TuningTask, ranked
from clinfer.kernels.tuned import measured, subject_of, variant_of
from clinfer.kernels.tuner import able_candidates, is_tuned, reference_of, trial_of, tune, worth_timing
from clinfer.ops.softmax import Softmax
from clinfer.runtime.engine import Engine
from clinfer.runtime.helper import Helper
from clinfer.runtime.trial import Trial
from clinfer.topology import Port
from clinfer.tuning import database as database_module
from clinfer.tuning.database import database_of
from clinfer.tuning.entry import Entry


@dataclass(frozen=True)
class Doubling(Kernel[Problem, Any]):
    """Takes `time` nanoseconds by its own account; `result`: what it makes of a value."""

    name: str
    time: float = 1e6
    result: str = "(2.0f * value)"
    tiles: tuple[Any, ...] = (None,)

    def configs(self, problem: Problem) -> tuple[Any, ...]:
        return self.tiles

    def cost(self, problem: Problem, config: Any) -> float:
        return self.time * (config or 1)

    def lower(self, problem: Problem, config: Any) -> Lowered:
        view = TensorView.of(problem.inputs[0])
        operands = (input_operand(problem, 0, view), output_operand(problem, 0, view))
        return Lowered((Stage("doubled.cl", operands, Work((problem.outputs[0].count,)), {"RESULT": self.result},
                              package="tests.tuning"),))


@pytest.fixture(autouse=True)
def own_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Measured times count, and there are none yet."""
    monkeypatch.setenv("CLINFER_TUNING", "1")
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(database_module, "_all_shipped", lambda: ())
    monkeypatch.setattr(tracing, "_warned", set())
    reopen()
    yield
    reopen()


def reopen() -> None:
    """As a later process does."""
    database_module._opened.cache_clear()


def problem_of(engine: Engine, rows: int = 64) -> Problem:
    layout = Layout.planar((rows, 128), ElementType.of("f32"))
    return Problem(Softmax("s", (Port("x"),), axis=1), (layout,), (layout,), engine.capabilities)


def learn(kernel: str, problem: Problem, nanoseconds: float, estimated: float, config: str = "") -> None:
    subject = subject_of(problem)
    database_of(problem.capabilities.hardware).add([Entry(
        subject.operation, subject.traits, tuple(problem.sizes.items()), kernel, config, "", False, nanoseconds,
        estimated, True, "2026-01-01", "driver")])


def chosen(table: KernelTable, problem: Problem) -> str:
    return select(table, problem).candidates[0].name


def test_a_measured_time_overrules_the_estimate(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    table = KernelTable((Doubling("fast", 1e6), Doubling("slow", 2e6)))
    problem = problem_of(engine)
    assert chosen(table, problem) == "fast"
    learn("fast", problem, 9e6, 1e6)
    learn("slow", problem, 2e6, 2e6)
    reopen()
    assert chosen(table, problem) == "slow"
    assert cheapest(table.candidates(problem), problem) == 1
    assert cheapest(table.candidates(problem), problem_of(engine, 64 << 6)) == 0, "too far away to tell"
    entry = measured(table.candidates(problem)[0], problem_of(engine, 66))
    assert entry is not None and entry.measured == 9e6
    monkeypatch.setenv("CLINFER_TUNING", "0")
    assert chosen(table, problem) == "fast"


@pytest.mark.parametrize(("kernel", "config", "told"), [
    ("gone", "", "no such kernel"), ("fast", "9", "no such configuration")])
def test_times_of_what_is_gone_are_left_out(engine: Engine, kernel: str, config: str, told: str) -> None:
    table = KernelTable((Doubling("fast", 1e6), Doubling("slow", 2e6)))
    problem = problem_of(engine)
    learn(kernel, problem, 1e5, 9e6, config)
    learn("gone too", problem, 1e5, 9e6)
    learn("fast", problem, 3e6, 1e6)
    reopen()
    with pytest.warns(RuntimeWarning, match=told) as caught:
        assert chosen(table, problem) == chosen(table, problem)
    assert len(caught) == 1, "of two"
    candidate = table.candidates(problem)[0]
    assert candidate.cost(problem) == pytest.approx(3e6), "the others count"
    learn("slow", problem, 2e6, 2e6)
    reopen()
    kept = database_of(engine.capabilities.hardware).variants(problem.subject)
    assert {variant.kernel for variant in kept} == {"fast", "slow"}, "later processes find nothing to warn of"


def test_a_time_that_no_device_reaches_is_not_believed(engine: Engine) -> None:
    table = KernelTable((Doubling("lies", 2e6), Doubling("true", 1e6)))
    problem = problem_of(engine, 40_000)
    learn("lies", problem, 300.0, 2e6)
    learn("true", problem, 1e6, 1e6)
    reopen()
    with pytest.warns(RuntimeWarning, match="measured times of lies .*amount to 300 ns") as caught:
        assert chosen(table, problem) == "true"
    assert len(caught) == 1 and chosen(table, problem) == "true"


def test_a_time_that_is_not_believed_leaves_a_candidate_as_one_that_was_not_measured(engine: Engine) -> None:
    """On a device that is slower than thought, what lied is so, too."""
    table = KernelTable((Doubling("lies", 2e6), Doubling("true", 1e6), Doubling("slow", 8e6)))
    problem = problem_of(engine, 40_000)
    for kernel, nanoseconds, estimated in (("lies", 300.0, 2e6), ("true", 3e6, 1e6), ("slow", 4e6, 8e6)):
        learn(kernel, problem, nanoseconds, estimated)
    reopen()
    with pytest.warns(RuntimeWarning, match="measured times of lies"):
        assert chosen(table, problem) == "true"
    assert cheapest(table.candidates(problem), problem) == 1


def test_estimates_decide_where_only_what_is_slow_was_measured(engine: Engine) -> None:
    """What the others are taken for is no time of theirs: not refused where it is less than the device can."""
    table = KernelTable((Doubling("bad", 40e6), Doubling("good", 4e6), Doubling("slow", 900e6)))
    problem = problem_of(engine, 40_000)
    learn("slow", problem, 9e6, 900e6)
    reopen()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert chosen(table, problem) == "good"


def test_specialisation_does_not_believe_it_either(engine: Engine) -> None:
    table = KernelTable((Doubling("lies", 2e6), Doubling("true", 1e6)))
    problem = problem_of(engine, 40_000)
    learn("lies", problem, 300.0, 2e6)
    reopen()
    present = generate(table.candidates(problem)[1], problem)
    with pytest.warns(RuntimeWarning, match="measured times of lies"):
        first, *_ = ranked(TuningTask(present, problem, table, LoadedKernels(kernel_cache_of(engine)), 0))
    assert first.name == "true"


# -- trials -------------------------------------------------------------------------------------------


RIGHT, ALSO_RIGHT = Doubling("right", 1e5), Doubling("also_right", 5e5, "(value + value)")
WRONG, BROKEN = Doubling("wrong", 2e5, "(2.01f * value)"), Doubling("broken", 3e5, "nonsense")
PARTLY = Doubling("partly", 4e5, "(i == 77 ? output[i] : 2.0f * value)")
REFERENCE = Doubling("ref", 1e6, "(value + value + 0.0f)")


def test_a_kernel_with_wrong_results_is_used_no_more(engine: Engine) -> None:
    table, problem = KernelTable((WRONG, PARTLY, BROKEN, ALSO_RIGHT, REFERENCE)), problem_of(engine)
    kernels = kernel_cache_of(engine)
    assert chosen(table, problem) == "wrong"
    with Helper(engine.device) as helper, pytest.warns(RuntimeWarning, match="it gives wrong results") as caught:
        found = tune(table, problem, kernels, helper, "driver")
        told = sorted(str(each.message) for each in caught)
        assert len(told) == 2 and "partly" in told[0] and "not numbers" in told[0] and "wrong" in told[1]
        assert {name for name, _ in found.times} == {"also_right", "ref"} and found.chosen == "wrong"
        assert any("nonsense" in error for error in found.errors)
    for _ in range(2):
        selection = select(table, problem)
        assert selection.candidates[0].name not in ("wrong", "partly")
        assert "wrong results on this device" in dict(selection.rejected)["wrong"]
        reopen()
    able = able_candidates(table, problem)
    assert [each.name for each in worth_timing(able, problem)] == ["broken", "also_right", "ref"]
    assert reference_of(able, problem).name == "ref"


def test_what_the_driver_cannot_build_is_tried_once(engine: Engine) -> None:
    """And hides nobody: others are timed that take a hundred times as long as it would."""
    unknown = Doubling("no_kernel", 1e3, f"unknown_{uuid4().hex}")
    table, problem = KernelTable((unknown, ALSO_RIGHT, REFERENCE)), problem_of(engine)
    kernels = kernel_cache_of(engine)
    with Helper(engine.device) as helper:
        first, again = (tune(table, problem, kernels, helper, "driver") for _ in range(2))
    assert {name for name, _ in first.times} == {name for name, _ in again.times} == {"also_right", "ref"}
    assert "no_kernel: the driver could not build it" in " ".join(first.errors) and not again.errors
    assert first.chosen == again.chosen == "also_right"
    assert is_tuned(table, problem, kernels) and not is_tuned(table, problem)


def test_where_all_differ_the_reference_is_in_doubt(engine: Engine) -> None:
    odd = Doubling("ref", 1e6, "(3.0f * value)")
    table, problem = KernelTable((RIGHT, ALSO_RIGHT, odd)), problem_of(engine)
    with Helper(engine.device) as helper, pytest.warns(RuntimeWarning, match="cannot tell which kernels"):
        tune(KernelTable((*table.kernels[:2], replace(odd, time=1e12))), problem, kernel_cache_of(engine), helper, "")
    reopen()
    assert chosen(table, problem) == "right"


def test_tuning_goes_on_where_it_was_interrupted(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    table, problems = KernelTable((RIGHT, ALSO_RIGHT, REFERENCE)), [problem_of(engine, rows) for rows in (64, 512)]
    asked: list[Trial] = []

    class Counting(Helper):
        def request(self, message: Any, timeout: float) -> Any:
            if message[0] == "trial":
                if asked:
                    raise KeyboardInterrupt
                asked.append(message[1])
            return super().request(message, timeout)

    with Counting(engine.device) as helper, pytest.raises(KeyboardInterrupt):
        for problem in problems:
            tune(table, problem, kernel_cache_of(engine), helper, "driver")
    reopen()
    assert [is_tuned(table, problem) for problem in problems] == [True, False]
    assert len(asked) == 1 and {launch.global_size for each in asked[0].candidates for launch in each.launches} == {
        (64 * 128,)}
    own = measured(table.candidates(problems[0])[0], problems[0])
    assert own is not None and own.variant == variant_of(table.candidates(problems[0])[0], problems[0]) and own.is_alone


def test_nothing_is_told_of_kernels_that_agree(engine: Engine) -> None:
    table, problem = KernelTable((RIGHT, ALSO_RIGHT, REFERENCE)), problem_of(engine)
    with Helper(engine.device) as helper, warnings.catch_warnings():
        warnings.simplefilter("error")
        found = tune(table, problem, kernel_cache_of(engine), helper, "driver")
    assert len(found.times) == 3 and not found.errors and all(0 < time < 1e9 for _, time in found.times)


def test_a_trial_that_needs_too_much_memory_is_refused(engine: Engine) -> None:
    table, problem = KernelTable((RIGHT, REFERENCE)), problem_of(engine, 1 << 21)
    candidates = [generate(each, problem) for each in table.candidates(problem)]
    with pytest.raises(ClinferError, match="too large for a trial"):
        trial_of(candidates, problem, candidates[-1], kernel_cache_of(engine))
