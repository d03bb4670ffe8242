"""Traces in blobs: they come back as they were, and none is used that is more than arithmetic or fits no node."""
from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openvino import opset13 as ops

import clinfer
from bench.models import MODELS
from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network import network as network_module
from clinfer.network.plans.node_planner import NodePlanner
from clinfer.network.plans.node_trace import FixedWork, KernelOffset, NodeTrace, Packing, PureFunction
from clinfer.network.plans.planner import Planner
from clinfer.network.plans.saved_traces import SavedTraces, give_traces, take_traces
from clinfer.network.plans.trace_ahead import trace_ahead
from clinfer.program.program import Program
from clinfer.runtime.device import find_device
from clinfer.runtime.engine import Engine
from tests.network.loop_models import running_sums
from tests.network.running import network_of
from tests.oracle import CpuPlugin, assert_close, ov

Rng = np.random.Generator


def _model() -> ov.Model:
    """A matrix product with a choice of kernels, arithmetic on shapes, a loop."""
    x, start = ops.parameter([-1, -1, 8], np.float32), ops.parameter([-1, 1, 8], np.float32)
    sizes = ops.shape_of(x, "i64")
    flat = ops.reshape(x, ops.concat([ops.multiply(ops.gather(sizes, [0], 0), ops.gather(sizes, [1], 0)),
                                      np.array([8], np.int64)], 0), False)
    rows = np.linspace(-1, 1, 8 * 24, dtype=np.float32).reshape(8, 24)
    return ov.Model([*running_sums(x, start, 1, 1, (False, False)),
                     ops.softmax(ops.matmul(flat, rows, False, False), 1).output(0)], [x, start])


def _inputs(rng: Rng, batch: int, length: int) -> list[np.ndarray]:
    return [rng.standard_normal(shape).astype(np.float32) for shape in ((batch, length, 8), (batch, 1, 8))]


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The nodes that are planned by themselves or traced."""
    nodes: list[int] = []
    plan = NodePlanner.plan
    monkeypatch.setattr(NodePlanner, "plan", lambda self, *args: (nodes.append(args[0]), plan(self, *args))[1])
    monkeypatch.setattr(network_module, "Planner", Planner)
    return nodes


def test_an_imported_model_plans_its_first_shapes_by_traces(rng: Rng, planned: list[int], tmp_path: Path) -> None:
    model, device = _model(), find_device("CPU").name
    settings = {"INFERENCE_PRECISION_HINT": "f32", "CACHE_DIR": str(tmp_path)}
    first = Core().compile_model(model, device, settings)
    blob = first.export_model().getvalue()
    planned.clear()
    cached = Core().compile_model(model, device, settings)
    assert cached.get_property("LOADED_FROM_CACHE")
    oracle = CpuPlugin(model)
    for compiled in (Core().import_model(blob, device), cached):
        assert compiled.program.traces
        for batch, length in ((2, 9), (3, 40)):
            given = _inputs(rng, batch, length)
            for number, wanted in enumerate(oracle(given)):
                assert_close(compiled(given)[number], wanted, 1e-4, f"output {number}")
    assert not planned


def test_what_is_taken_is_what_is_given(engine: Engine) -> None:
    program, saved = _traced(engine)
    count = sum(map(len, program.traces.values()))
    assert sum(len(each) for part in _parts(saved) for each in part.nodes.values()) == count > 0
    program.traces.clear()
    give_traces(program, saved, OpenVinoShapeInference())
    assert sum(map(len, program.traces.values())) == count


@pytest.mark.parametrize("name", ["minilm", "t5", "mamba"])
@pytest.mark.sampled(1 / 3)
def test_every_trace_of_a_model_can_be_saved(name: str) -> None:
    compiled = Core().compile_model(MODELS[name].build(), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    saved = take_traces(compiled.program, OpenVinoShapeInference())
    assert sum(len(each) for part in _parts(saved) for each in part.nodes.values()) == sum(
        map(len, compiled.program.traces.values()))


def test_all_that_traces_may_call_is_marked() -> None:
    """A trace that calls another function is not made, and the node planned by itself for every shape."""
    root = Path(clinfer.__file__).parent
    text = "\n".join(path.read_text() for path in sorted(root.rglob("*.py")))
    called = set(re.findall(r"[^_.\w]computed\((\w+),", text)) - {"function", "max", "min", "ratio"}
    assert called and called <= set(re.findall(r"@pure\ndef (\w+)\(", text)), called


def _traced(engine: Engine) -> tuple[Program, SavedTraces]:
    program = network_of(engine, _model()).program
    trace_ahead(program, OpenVinoShapeInference())
    return program, take_traces(program, OpenVinoShapeInference())


def _parts(saved: SavedTraces) -> Iterator[SavedTraces]:
    yield saved
    for bodies in saved.bodies.values():
        for body in bodies:
            yield from _parts(body)


def _spoiled(results: str) -> Callable[[NodeTrace], NodeTrace]:
    return lambda trace: replace(trace, results=results.replace("RESULTS", trace.results[1:-1]))


def _with_line(*line: str) -> Callable[[NodeTrace], NodeTrace]:
    return lambda trace: replace(trace, steps=(*trace.steps, line))  # type: ignore[arg-type]


def _with_number(text: str) -> Callable[[NodeTrace], NodeTrace]:
    """The first number spelled so."""
    return _replaced(lambda tree: tree.elts[0], text)


def _with_launch(part: int, text: str) -> Callable[[NodeTrace], NodeTrace]:
    """A part of the first launch spelled so: 0 is the kernel, 1 the argument block, 2 the work size."""
    return _replaced(lambda tree: tree.elts[-1].elts[0].args[1].elts[part], text)  # type: ignore[attr-defined]


def _replaced(part: Callable[[ast.Tuple], ast.expr], text: str) -> Callable[[NodeTrace], NodeTrace]:
    def spoil(trace: NodeTrace) -> NodeTrace:
        tree = ast.parse(trace.results, mode="eval").body
        assert isinstance(tree, ast.Tuple)
        old = part(tree)
        return replace(trace, results=trace.results[:old.col_offset] + text + trace.results[old.end_col_offset:])
    return spoil


def _with_helper(name: str, helper: Any) -> Callable[[NodeTrace], NodeTrace]:
    return lambda trace: replace(trace, helpers={**trace.helpers, name: helper})


@pytest.mark.parametrize("spoil", [
    _spoiled("(RESULTS 0, )"), _spoiled("[RESULTS]"), _spoiled("__import__('os').system('true')"), _spoiled("(RESULTS"),
    _spoiled("(RESULTS)\n    import os"), _spoiled("(RESULTS)[0]"), _spoiled("(lambda: (RESULTS))()"),
    _with_line("v9001", "open(0)"), _with_line("v9001", "a0.__class__"), _with_line("v9001", "2 ** a0"),
    _with_line("v9001", "[x for x in a0]"), _with_line("v9001", "'text'"), _with_line("v9001", "v9002"),
    _with_line("otherwise", "1"), _with_line("v9001 = v9002", "1"), _with_line("", "exec(a0)"),
    _with_line("v9001", "1; import os"), _with_line("v9001", "(a0 := 1)"), _with_line("v9001", "failures"),
    _with_line("v9001", "new"), _with_line("v9001", "None"), _with_line("v9001", "(1, 2)"), _with_line("v9001", ""),
    _with_line("v9001", "1if 1else 2"), _with_line("v9001", "1j"), _with_line("v9001", "0x10"),
    _with_line("v9001", "a0(1)"), _with_line("v9001", "a0[0]"), _with_line("v9001", "len(a0)"),
    _with_line("v9001", "abs(1, 2)"), _with_line("v9001", "not 1"), _with_line("v9001", "1 == 1"),
    _with_line("v9001", "new(Launch, (1, 2, 3))"), _with_line("v9001", "new_bytes(WorkSize, sizes1(1, 0, ))"),
    _with_line("v9001", "1 << 40000000000"), _with_line("v9001", "(0, ) * 3000000000"), _with_line("v9001", "9" * 99),
    _with_line("v9001", " * ".join(["a0"] * 2000)), _with_line("v9001", "9" * 5000), _with_line("v9001", "2 @ a0"),
    lambda trace: replace(trace, steps=(*trace.steps, ("v9000", "a0"), *(
        (f"v{n}", f"v{n - 1} * v{n - 1}") for n in range(9001, 9050)))),
    lambda trace: replace(trace, steps=(("v9001", "len(a0, "), ("v9002", "a0)"), *trace.steps)),
    _with_line("", ""), _with_line("", "1"), _with_line("", "a0) and (a0"), _with_line("", "1 < 2 < 3"),
    _with_line("", "a0 and 1"), _with_line("", "a0 == (1, )"), _with_line("", "a0 > 0 or a0 < 1"),
    _with_line("", "(" * 5000 + "a0 > 0" + ")" * 5000), _with_line("", "not " * 100_000 + "a0 > 0"),
    _with_line("", "-" * 30_000 + "a0 > 0"), _with_line("", "1 + " * 100_000 + "a0 > 0"),
    _with_line("", "a0" + "[0]" * 100_000 + " > 0"), _with_line("", "(" + "1, " * 1_000_000 + ")"),
    _with_number("1if 1else 2"), _with_number("None"), _with_number("Launch"), _with_number("(1, )"),
    _with_number("otherwise"), _with_launch(2, "new_bytes(WorkSize, sizes1(1, ))"),
    _with_launch(2, "new_bytes(WorkSize, sizes2(1, 1, ))"), _with_launch(2, "new_bytes(WorkSize, pack0(1, 0, ))"),
    _with_launch(2, "new_bytes(Launch, sizes1(1, 0, ))"), _with_launch(2, "new_bytes(WorkSize, a0)"),
    _with_launch(2, "new_bytes(WorkSize, sizes1(1, None, ))"), _with_launch(2, "sizes1(1, 0, )"),
    _with_launch(2, "(1, )"), _with_launch(1, "1"), _with_launch(1, "WorkSize"), _with_launch(0, "0"),
    _with_helper("ne\uff57", b""), _with_helper("l\uff45n", b""), _with_helper("__debug__", b""),
    _with_helper("new", b""), _with_helper("a0): import os #", b""),
    _with_helper("kernel77", KernelOffset(77)), _with_helper("apply9", PureFunction("os.system")),
    _with_helper("pack9", Packing("=P")), _with_helper("work9", FixedWork((), None)), _with_helper("v1", b""),
    lambda trace: replace(trace, arguments=trace.arguments + 1),
])
def test_a_trace_that_does_not_fit_is_an_error(engine: Engine, spoil: Callable[[NodeTrace], NodeTrace]) -> None:
    program, saved = _traced(engine)
    index, traces = next((index, traces) for index, traces in saved.nodes.items()
                         if any(isinstance(each, KernelOffset) for each in traces[0].helpers.values()))
    spoiled = replace(saved, nodes={index: (spoil(traces[0]),)})
    program.traces.clear()
    with pytest.raises(ClinferError, match=r"a trace of the compiled blob does not fit its program"):
        give_traces(program, spoiled, OpenVinoShapeInference())


@pytest.mark.parametrize("change", [
    lambda saved: replace(saved, nodes={9999: next(iter(saved.nodes.values()))}),
    lambda saved: replace(saved, nodes={0: next(iter(saved.nodes.values()))}),
    lambda saved: replace(saved, bodies=dict.fromkeys(saved.bodies, ())),
    lambda saved: replace(saved, bodies={9999: ()}), lambda saved: replace(saved, initial=saved)])
def test_traces_of_another_program_are_an_error(engine: Engine, change: Callable[[SavedTraces], SavedTraces]) -> None:
    program, saved = _traced(engine)
    program.traces.clear()
    with pytest.raises(ClinferError, match=r"a trace of the compiled blob does not fit its program"):
        give_traces(program, change(saved), OpenVinoShapeInference())
