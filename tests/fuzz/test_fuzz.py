"""The tester of random graphs itself: what it draws, finds, cuts down and prints."""
from __future__ import annotations

import ast
import inspect
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clinfer.frontend.opsets import list_operations
from tests.fuzz.case import Case, Record
from tests.fuzz.children import Answer, Child, CutOff
from tests.fuzz.draft import Draft
from tests.fuzz.generate import MOST_ELEMENTS, _data, _without_ranks, finished, generate, random_values
from tests.fuzz.graph import Graph, Input, Ref, Step, build, dtype_of
from tests.fuzz.operations import GROUPS, MODULES, NOT_DRAWN
from tests.fuzz.operations.reducing import fits_in_any_order
from tests.fuzz.running import Outcome, check
from tests.fuzz.session import Session
from tests.fuzz.shrinking import shrink
from tests.fuzz.source import source
from tests.node_by_node import NodeByNode

SEEDS = (0, 1, 3, 4, 5)


def drawn(seed: int) -> Case:
    case = generate(seed)
    assert case is not None
    return case


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_gives_the_same_case_again(seed: int) -> None:
    assert source(drawn(seed), "", "CPU") == source(drawn(seed), "", "CPU")


def test_every_operation_is_drawn_or_has_a_reason_why_not() -> None:
    named = {node.value for module in MODULES for node in ast.walk(ast.parse(inspect.getsource(module)))
             if isinstance(node, ast.Constant)}
    assert {each.name for each in list_operations()} - named == set(NOT_DRAWN)


@pytest.mark.parametrize("group", GROUPS)
def test_all_of_a_group_can_be_drawn_and_printed(group: str) -> None:
    """In a few attempts, from tensors of several types and shapes; what is printed builds a model."""
    for make in dict.fromkeys(GROUPS[group]):
        draft = Draft(np.random.default_rng(3), 1)
        for kind, shape in (("boolean", (4,)), ("u8", (1, 2)), ("i64", ()), ("i64", (3,)), ("i64", (2, 3)),
                            ("f32", (3, 4)), ("f32", (2, 3, 4)), ("f32", (2, 4, 6, 6))):
            draft.input(kind, shape, [random_values(draft.rng, kind, shape)])
        assert any(draft.attempt(make) for _ in range(30)), make.__name__
        case = finished(draft, group)
        assert case is not None
        printed: dict[str, Any] = {"__name__": "printed"}
        exec(source(case, make.__name__, "CPU"), printed)
        assert len(printed["main"]().outputs) == len(case.graph.outputs)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_part_of_a_graph_is_a_case(seed: int) -> None:
    """What a case without some of its steps has to give is what the oracle computes for it."""
    case = drawn(seed)
    names = [step.name for step in case.graph.steps]
    for kept in (names[::2], names[1::2], names[len(names) // 2:], names[:1]):
        part = case.only_steps(kept)
        if part is None:
            continue
        model = NodeByNode(build(part.graph))
        for setting in range(part.settings):
            model.reset()
            for found, wanted in zip(model(part.feed(setting)), part.expected(setting), strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def spoiled(case: Case) -> Case:
    """With one number of the last output that is not what the model computes."""
    ref = next(r for r in reversed(case.graph.outputs) if case.tensors[r].values[0].size)
    record = case.tensors[ref]
    values = [value.copy() for value in record.values]
    values[0].reshape(-1)[0] = not values[0].reshape(-1)[0]
    wrong = Record(record.type, record.dims, tuple(values))
    return replace(case, tensors={**case.tensors, ref: wrong})


def test_a_wrong_number_is_found_and_cut_down() -> None:
    case = spoiled(drawn(1))
    found = check(case, "CPU", ("dynamic",))
    assert found.kind == "wrong", found
    small = shrink(case, lambda c: check(c, "CPU", ("dynamic",)).kind == "wrong")
    assert len(small.graph.steps) == 1 and len(small.graph.outputs) == 1 and small.settings == 1


def test_ranks_stay_where_openvino_needs_them_to_count_outputs() -> None:
    split = Step("t", "VariadicSplit", (Ref("x"), np.array(0), Ref("n")))
    graph = Graph((Input("x", "f32", (-1,)), Input("n", "i64", (2,))), (split,), (Ref("t", 0), Ref("t", 1)))
    assert _without_ranks(graph) == graph


@pytest.mark.parametrize("runs", [0, 2])
def test_ranks_stay_where_a_loop_joins_the_results_of_no_run(runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = Draft(np.random.default_rng(3), 1)
    state = draft.input("f32", (2,), [np.ones(2, np.float32)])
    inner = draft.body([state])
    new = inner.op("Relu", inner.tensors[0])
    rows = inner.op("Unsqueeze", new, np.array([0]))
    always = inner.op("Equal", inner.op("ShapeOf", new, output_type="i64"), np.array([2]), auto_broadcast="numpy")
    going = inner.op("Squeeze", always, np.array([0]))
    body = Graph(tuple(inner.inputs), tuple(inner.steps), (going.ref, new.ref, rows.ref))
    draft.step("Loop", np.array(runs), np.array(True), state, bodies=(body,), wiring=(
        ("merged", 2, 0, 1), ("last", 1), ("joined", 2, 0, 1, -1, 0), ("ports", -1, 0)))
    monkeypatch.setattr(draft, "chance", lambda share: True)
    case = finished(draft, "bodies")
    assert case is not None and (case.graph.inputs[0].dims is None) == (runs > 0)


def case_of_steps(x: np.ndarray, *steps: Step) -> Case:
    """One input and what its steps make of it, the last one being the output."""
    graph = Graph((Input("x", "f32", (-1,) * x.ndim),), steps, (Ref(steps[-1].name),))
    wanted = NodeByNode(build(graph))([x])[0]
    return Case(graph, {Ref("x"): Record("f32", None, (x,)), graph.outputs[0]: Record(
        "f32" if wanted.dtype == np.float32 else "i64", None, (wanted,))}, 1e-4)


def test_rounding_of_what_cancels_is_no_finding() -> None:
    """The mean of numbers from which the mean is taken."""
    case = case_of_steps(
        np.array([[-0.5], [1.75], [2.0]], np.float32),
        Step("n", "MVN", (Ref("x"), np.array([0])), {"normalize_variance": False, "eps": 0.01,
                                                     "eps_mode": "inside_sqrt"}),
        Step("m", "ReduceMean", (Ref("n"), np.array([0, 1])), {"keep_dims": False}))
    wanted = Record("f32", None, (np.array(4e-8, np.float32),))
    shifted = replace(case, tensors={**case.tensors, case.graph.outputs[0]: wanted})
    assert check(shifted, "CPU", ("dynamic",)).kind == "fine"
    wanted = Record("f32", None, (np.array(4e-3, np.float32),))
    assert check(replace(case, tensors={**case.tensors, case.graph.outputs[0]: wanted}), "CPU",
                 ("dynamic",)).kind == "wrong"


@pytest.mark.parametrize(("kind", "factor", "fits"), [("f32", 4, False), ("f32", 1.25, True), ("f16", 1.25, False)])
def test_a_product_is_drawn_where_no_part_of_it_overflows(kind: str, factor: float, fits: bool) -> None:
    """With a 0 among its factors it is finite, but only in some orders."""
    values = np.full((2, 100), factor, dtype_of(kind))
    values[:, 0] = 0
    x = Draft(np.random.default_rng(0), 1).input(kind, (2, 100), [values])
    assert fits_in_any_order(x, (-1,)) == fits


def test_a_rank_that_depends_on_data_is_a_refusal() -> None:
    case = case_of_steps(
        np.array([1.0], np.float32), Step("n", "NonZero", (Ref("x"),), {"output_type": "i64"}),
        Step("s", "Squeeze", (Ref("n"),), {}))
    assert check(case, "CPU", ("dynamic",)).kind == "refused"


@pytest.mark.parametrize("is_right", [True, False])
def test_the_program_of_a_finding_stands_alone(tmp_path: Path, is_right: bool) -> None:
    case = drawn(1)
    path = tmp_path / "found.py"
    path.write_text(source(case if is_right else spoiled(case), "a finding", "CPU"), encoding="utf-8")
    ended = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=300, check=False)
    assert (ended.returncode == 0) is is_right, ended.stderr
    assert is_right or "AssertionError" in ended.stderr


def test_a_process_that_dies_or_hangs_is_a_finding() -> None:
    case, child = drawn(1), Child("CPU")
    try:
        assert child.check(case).kind == "fine"
        os.kill(child._process.pid, signal.SIGKILL)
        assert child.check(case).kind == "crash"
        assert child.check(case).kind == "fine"
        child._limit = 0
        assert child.check(case).kind == "hang"
    finally:
        child.close()


def test_a_session_ends_with_its_totals_when_the_time_is_over() -> None:
    session = Session("CPU")
    session.run(range(50), 2, 0.5)
    assert session.graphs < 50 and len(session.cut_off) == 2 and not session.findings
    assert session.summary().splitlines()[-1].startswith(f"{session.graphs} of 50 graphs in ")


def test_a_finding_comes_with_its_seed_before_it_is_cut_down(capsys: pytest.CaptureFixture[str],
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the time is over while it is cut down: the program is then that of the whole graph."""
    case, session = drawn(1), Session("CPU")
    monkeypatch.setattr(Child, "draw", lambda child, seed: Answer(Outcome("wrong", "dynamic", "told"), case))

    def cut_off(child: Child, candidate: Case, stages: tuple[str, ...]) -> Outcome:
        child.cut_off()
        raise CutOff("shrinking")
    monkeypatch.setattr(Child, "check", cut_off)
    session.run(range(7, 8))
    printed = capsys.readouterr().out
    assert printed.index("--seed 7 --graphs 1 --device 'CPU'") < printed.index("def main():")
    assert session.totals().endswith("1 findings of 1 causes") and session.findings


def test_inputs_of_several_long_axes_fit_into_memory() -> None:
    draft = Draft(np.random.default_rng(5), 3)
    sizes = {name: [257, 64, 130] for name in "BTWO"}
    counts = [given.values[0].size for _ in range(40) for given in [_data(draft, sizes, 6, "u8", image=False)]]
    assert max(counts) <= MOST_ELEMENTS and len(set(counts)) > 5


@pytest.mark.parametrize(("window", "is_exact"), [((3, 3), False), ((1, 5), False), ((2, 3), True), ((1, 1), True)])
def test_what_decides_reads_no_convolution_that_is_rounded(window: tuple[int, int], is_exact: bool) -> None:
    draft = Draft(np.random.default_rng(5), 1)
    image = draft.input("f32", (1, 4, -1, -1), [draft.weights(1, 4, 5, 6)])
    made = draft.op("Convolution", image, draft.weights(3, 4, *window), strides=[1, 1], pads_begin=[1, 1],
                    pads_end=[1, 1], dilations=[1, 1])
    assert made.exact == is_exact
