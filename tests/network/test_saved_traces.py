"""Traces in blobs: they come back as they were, and none is used that is more than arithmetic or fits no node."""
from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from clinfer.network.plans.node_trace import PureFunction
from clinfer.network.plans.planner import Planner
from clinfer.network.plans.saved_traces import SavedTraces, give_traces, take_traces
from clinfer.network.plans.trace_ahead import trace_ahead
from clinfer.network.plans.tracer import NodeCall
from clinfer.program.program import Program
from clinfer.runtime.device import find_device
from clinfer.runtime.engine import Engine
from clinfer.symbolic.tape import Asked, Op, Tape
from tests.network.loop_models import running_sums
from tests.network.running import check, network_of
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
    _forget_traces(program)
    give_traces(program, saved)
    assert sum(map(len, program.traces.values())) == count


def test_a_trace_may_come_twice(engine: Engine, rng: Rng) -> None:
    """Records that refer to one twice make it one object."""
    model = _model()
    network = network_of(engine, model)
    trace_ahead(network.program, OpenVinoShapeInference())
    for traces in network.program.traces.values():
        traces.extend(traces)
    check(network, CpuPlugin(model), _inputs(rng, 3, 7))


@pytest.mark.parametrize("name", ["minilm", "t5", "mamba"])
@pytest.mark.sampled(1 / 3)
def test_every_trace_of_a_model_can_be_saved(name: str) -> None:
    compiled = Core().compile_model(MODELS[name].build(), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    saved = take_traces(compiled.program)
    assert sum(len(each) for part in _parts(saved) for each in part.nodes.values()) == sum(
        map(len, compiled.program.traces.values()))


def test_all_that_traces_may_call_is_marked() -> None:
    """A trace that calls another function is not made, and the node planned by itself for every shape."""
    root = Path(clinfer.__file__).parent
    text = "\n".join(path.read_text() for path in sorted(root.rglob("*.py")))
    called = set(re.findall(r"[^_.\w]computed\((\w+),", text)) - {"function", "max", "min", "ratio"}
    assert called and called <= set(re.findall(r"@pure\ndef (\w+)\(", text)), called


def _forget_traces(program: Program) -> None:
    for traces in program.traces.values():
        traces.clear()


def _traced(engine: Engine) -> tuple[Program, SavedTraces]:
    program = network_of(engine, _model()).program
    trace_ahead(program, OpenVinoShapeInference())
    return program, take_traces(program)


def _parts(saved: SavedTraces) -> Iterator[SavedTraces]:
    yield saved
    for bodies in saved.bodies.values():
        for body in bodies:
            yield from _parts(body)


Spoil = Callable[[Tape], Tape]


def _step(op: int, to: int = 0, one: int = 0, other: int = 0, first: bool = False) -> Spoil:
    """With one more step in front of what is given, or of all."""
    def spoil(tape: Tape) -> Tape:
        place = 0 if first else next(number for number, step in enumerate(tape.steps) if step[0] > Op.ASK)
        return replace(tape, code=_code([*tape.steps[:place], (op, to, one, other), *tape.steps[place:]]))
    return spoil


def _behind(op: int, one: int = 0, other: int = 0) -> Spoil:
    """With one more step behind all."""
    return lambda tape: replace(tape, code=_code([*tape.steps, (op, 0, one, other)]))


def _instead(op: Op, **changes: int) -> Spoil:
    """The first step that does this does it otherwise."""
    names = {"op": 0, "to": 1, "one": 2, "other": 3}

    def spoil(tape: Tape) -> Tape:
        steps = [[*step] for step in tape.steps]
        found = next(step for step in steps if step[0] == op)
        for name, number in changes.items():
            found[names[name]] = number
        return replace(tape, code=_code(steps))
    return spoil


def _without(op: Op) -> Spoil:
    def spoil(tape: Tape) -> Tape:
        place = next(number for number, step in enumerate(tape.steps) if step[0] == op)
        return replace(tape, code=_code([*tape.steps[:place], *tape.steps[place + 1:]]))
    return spoil


def _code(steps: Iterable[Sequence[int]]) -> bytes:
    return b"".join(struct.pack("=4H", *step) for step in steps)


def _computing(op: Op, one: int = 0, other: int = 0, kind: type = int, to: int | None = None) -> Spoil:
    """With one more step that computes, into a register of its own of this type."""
    def spoil(tape: Tape) -> Tape:
        longer = replace(tape, registers=(*tape.registers, kind(0)))
        return _step(op, len(tape.registers) if to is None else to, one, other)(longer)
    return spoil


def _asking(function: Any, arguments: Any = (0,), counts: tuple[int, ...] = (), first: int | None = None) -> Spoil:
    def spoil(tape: Tape) -> Tape:
        register = len(tape.registers)
        asked = (*tape.asked, Asked(function, arguments, counts, register if first is None else first))
        return _step(Op.ASK, register, len(asked) - 1)(replace(tape, registers=(*tape.registers, 0), asked=asked))
    return spoil


SHARE = PureFunction("clinfer.ops.mvn.kernels._share_seen")
SPOILED: dict[str, Spoil] = {
    "other arguments": lambda tape: replace(tape, arguments=tape.arguments + 1),
    "half a step": lambda tape: replace(tape, code=tape.code[:-3]),
    "no steps": lambda tape: replace(tape, code=b""),
    "no registers": lambda tape: replace(tape, registers=()),
    "too many registers": lambda tape: replace(tape, registers=(*tape.registers, *(0,) * 70_000)),
    "a large number": lambda tape: replace(tape, registers=(*tape.registers, 1 << 63)),
    "a float is given": lambda tape: replace(tape, registers=(0.0, *tape.registers[1:])),
    "unknown step": _step(38), "largest step": _step(65535), "register beyond": _step(Op.EQUAL, 1, 65535),
    "result beyond": _computing(Op.ADD, to=60_000), "into an argument": _computing(Op.ADD, to=0),
    "into the wrong type": _computing(Op.ADD, kind=float), "float of integers": _computing(Op.ADD_F, kind=float),
    "rounded integer": _computing(Op.CEIL), "guard of floats": _step(Op.LESS_F, 1),
    "computed late": _behind(Op.ADD), "guard late": _behind(Op.EQUAL), "one number more": _behind(Op.NUMBER),
    "one number less": _without(Op.NUMBER), "a kernel of others": _instead(Op.LAUNCH, one=77),
    "no dimensions": _instead(Op.LAUNCH, other=0), "four dimensions": _instead(Op.LAUNCH, other=4),
    "one dimension more": lambda tape: _instead(
        Op.LAUNCH, other=next(step[3] for step in tape.steps if step[0] == Op.LAUNCH) + 1)(tape),
    "one size less": _without(Op.SIZE), "one size more": _behind(Op.SIZE), "no launch": _without(Op.LAUNCH),
    "size of nothing": _instead(Op.SIZE, one=65535), "bytes beyond": _instead(Op.BYTES, other=65535),
    "bytes from beyond": _instead(Op.BYTES, one=65535), "less data": lambda tape: replace(tape, data=b""),
    "bytes of no kernel": _step(Op.BYTES), "integer of no kernel": _step(Op.INT32),
    "endless arguments": lambda tape: replace(
        tape, data=bytes(60_000), code=_code([part for step in tape.steps for part in (
            [step, (Op.BYTES, 0, 0, 60_000), (Op.BYTES, 0, 0, 60_000)] if step[0] == Op.LAUNCH else [step])])),
    "nothing to ask": _step(Op.ASK, 0, 99), "other function": _asking(PureFunction("os.system")),
    "no function": _asking("os.system"), "function that gives shapes": _asking(SHARE, counts=(1,)),
    "rule that gives none": _asking(NodeCall(False, {}, ())), "asked about beyond": _asking(SHARE, (0, 65535)),
    "asked about text": _asking(SHARE, ("a0",)), "answer elsewhere": _asking(SHARE, first=0),
    "endless answer": _asking(NodeCall(False, {}, ()), counts=(1 << 40,))}


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED)
def test_a_trace_that_does_not_fit_is_an_error(engine: Engine, spoil: Spoil) -> None:
    program, saved = _traced(engine)
    index, traces = next((index, traces) for index, traces in saved.nodes.items()
                         if {Op.LAUNCH, Op.BYTES} <= {step[0] for step in traces[0].steps})
    spoiled = replace(saved, nodes={index: (spoil(traces[0]),)})
    _forget_traces(program)
    with pytest.raises(ClinferError, match=r"a trace of the compiled blob does not fit its program"):
        give_traces(program, spoiled)


@pytest.mark.parametrize("change", [
    lambda saved: replace(saved, nodes={9999: next(iter(saved.nodes.values()))}),
    lambda saved: replace(saved, nodes={0: next(iter(saved.nodes.values()))}),
    lambda saved: replace(saved, bodies=dict.fromkeys(saved.bodies, ())),
    lambda saved: replace(saved, bodies={9999: ()}), lambda saved: replace(saved, initial=saved)])
def test_traces_of_another_program_are_an_error(engine: Engine, change: Callable[[SavedTraces], SavedTraces]) -> None:
    program, saved = _traced(engine)
    _forget_traces(program)
    with pytest.raises(ClinferError, match=r"a trace of the compiled blob does not fit its program"):
        give_traces(program, change(saved))
