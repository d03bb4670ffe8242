"""Traces on disk: found by what they were made of, and by nothing that differs."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.network.plans import kept_traces, trace_ahead
from clinfer.network.plans.node_trace import PureFunction
from clinfer.network.plans.tracer import NodeCall
from clinfer.program.options import BuildOptions
from clinfer.program.program import Program
from clinfer.runtime.engine import Engine
from clinfer.symbolic.tape import Asked, Tape
from clinfer.tuning.database import MeasuredRatio
from tests.network.loop_models import running_sums
from tests.network.running import check
from tests.oracle import CpuPlugin, ov

Rng = np.random.Generator


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kept_traces, "FEWEST", 1)
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(tmp_path))
    return tmp_path / "traces"


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A number for every trace that is made."""
    made: list[int] = []
    make = trace_ahead.NodeFunction._traced
    monkeypatch.setattr(trace_ahead.NodeFunction, "_traced",
                        lambda function, *given: made.append(1) or make(function, *given))
    return made


def _model(width: int = 8, parameter: str = "x") -> ov.Model:
    """A matrix product with a choice of kernels, arithmetic on shapes, a loop."""
    x, start = ops.parameter([-1, -1, width], np.float32), ops.parameter([-1, 1, width], np.float32)
    x.set_friendly_name(parameter)
    sizes = ops.shape_of(x, "i64")
    flat = ops.reshape(x, ops.concat([ops.multiply(ops.gather(sizes, [0], 0), ops.gather(sizes, [1], 0)),
                                      np.array([width], np.int64)], 0), False)
    rows = np.linspace(-1, 1, width * 24, dtype=np.float32).reshape(width, 24)
    return ov.Model([*running_sums(x, start, 1, 1, (False, False)),
                     ops.softmax(ops.matmul(flat, rows, False, False), 1).output(0)], [x, start])


def _program(engine: Engine, model: ov.Model, options: BuildOptions | None = None) -> Program:
    program = compile_topology(engine, to_topology(model).topology, OpenVinoShapeInference(), options)
    trace_ahead.trace_ahead(program, OpenVinoShapeInference())
    return program


def _parts(program: Program) -> list[list[tuple[Any, ...]]]:
    return [[_part(tape) for tape in tapes] for tapes in program.traces.values()]


def _part(tape: Tape) -> tuple[Any, ...]:
    return tape.arguments, list(map(repr, tape.registers)), tape.code, tape.data, list(map(repr, tape.asked))


def test_traces_that_are_kept_are_the_traces(engine: Engine, rng: Rng, folder: Path, traced: list[int]) -> None:
    model = _model()
    fresh = _program(engine, model)
    assert traced
    traced.clear()
    program = _program(engine, model)
    assert not traced
    assert _parts(program) == _parts(fresh)
    network, oracle = Network(program, engine.create_stream(), OpenVinoShapeInference()), CpuPlugin(model)
    for batch, length in ((2, 9), (1, 40), (3, 1), (2, 300)):
        check(network, oracle, [rng.standard_normal(shape).astype(np.float32)
                                for shape in ((batch, length, 8), (batch, 1, 8))])


def test_what_tapes_ask_is_kept(engine: Engine, folder: Path) -> None:
    rule = NodeCall(True, {1: np.array([[3, -4]], np.int64)}, ((0, (2,), np.dtype("int32")),))
    asked = (Asked(rule, (((0, -1), None), (1, 2)), (1, 2), 3), Asked(PureFunction("ceil"), (1,), (), 6),
             Asked(MeasuredRatio((((3, 7), 0.5),)), (0, 1), (), 7))
    tape = Tape(2, (0, 0, 1 << 62, 0, 0, 0, 0.0, -0.0, float("inf"), 1e-300), b"12345678", b"", asked)
    program = _program(engine, _model())
    next(iter(program.traces.values()))[:] = [tape]
    wanted, kept = _parts(program), kept_traces.kept_traces(program, 1)
    assert kept is not None
    kept.keep(program)
    for tapes in program.traces.values():
        tapes.clear()
    assert kept.give(program) and _parts(program) == wanted


def test_they_are_found_whatever_nodes_are_called_and_by_nothing_that_differs(
        engine: Engine, folder: Path, traced: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    def is_traced(*model: Any, options: BuildOptions | None = None) -> bool:
        traced.clear()
        _program(engine, _model(*model), options)
        return bool(traced)

    assert [is_traced(), is_traced(), is_traced(8, "y")] == [True, False, False]
    assert [is_traced(16), is_traced(16)] == [True, False]
    large = BuildOptions(large_indices=True)
    assert [is_traced(options=large), is_traced(options=large)] == [True, False]
    monkeypatch.setattr(kept_traces, "judged_with", lambda engine: "edited")
    assert [is_traced(), is_traced()] == [True, False]
    monkeypatch.setenv("CLINFER_CACHE", "0")
    assert is_traced()


def test_files_that_are_damaged_are_written_anew(engine: Engine, folder: Path, traced: list[int]) -> None:
    _program(engine, _model())
    file, = folder.iterdir()
    whole = file.read_bytes()
    for damaged in (b"", whole[:-70], whole[:700] + b"\xff" + whole[701:], whole + b"\0", bytes(len(whole))):
        file.write_bytes(damaged)
        traced.clear()
        _program(engine, _model())
        assert traced and file.read_bytes() == whole
