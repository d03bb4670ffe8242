"""Blobs whose traces were changed, under sound digests: one clear error, before anything is launched."""
from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.api import saved_model
from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.network import network
from clinfer.network.plans.node_trace import PureFunction
from clinfer.network.plans.planner import Planner
from clinfer.network.plans.saved_traces import SavedTraces, take_traces
from clinfer.program.program import Program
from clinfer.runtime import driver
from clinfer.runtime.stream import Stream
from clinfer.symbolic.tape import Asked, Op, Tape
from tests.api.models import F32
from tests.oracle import assert_close

Change = Callable[[Tape], Tape]


def _model() -> ov.Model:
    """Something that a kernel computes, and a number of shape arithmetic that is handed out."""
    x = ops.parameter([-1, -1], np.float32)
    sizes = ops.shape_of(x, "i64")
    return ov.Model([ops.softmax(x, 1), ops.multiply(ops.gather(sizes, [0], 0), ops.gather(sizes, [1], 0))], [x])


@pytest.fixture(scope="module")
def compiled() -> CompiledModel:
    return Core().compile_model(_model(), "CPU", F32)


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Everything that is launched."""
    seen: list[object] = []
    enqueue_all = Stream.enqueue_all
    monkeypatch.setattr(Stream, "enqueue_all", lambda self, launches: (
        seen.append(launches), enqueue_all(self, launches))[1])
    return seen


def _resealed(compiled: CompiledModel, change: Change, of_kernels: bool, patch: pytest.MonkeyPatch) -> bytes:
    """The model as a blob, with every trace changed of the nodes that launch kernels, or of the others."""
    def changed(trace: Tape) -> Tape:
        return change(trace) if bool(trace.needs[0]) == of_kernels else trace

    def take(program: Program) -> SavedTraces:
        saved = take_traces(program)
        return replace(saved, nodes={index: tuple(map(changed, traces)) for index, traces in saved.nodes.items()})
    patch.setattr(saved_model, "take_traces", take)
    blob: bytes = compiled.export_model().getvalue()
    return blob


def _steps(change: Callable[[list[tuple[int, ...]]], list[tuple[int, ...]]]) -> Change:
    return lambda trace: replace(trace, code=b"".join(struct.pack("=4H", *step) for step in change(trace.steps)))


def _number(number: int) -> Change:
    """The first number of the results is another one."""
    def change(trace: Tape) -> Tape:
        first = next(place for place, step in enumerate(trace.steps) if step[0] == Op.NUMBER)
        longer = replace(trace, registers=(*trace.registers, number))
        return _steps(lambda steps: [*steps[:first], (Op.NUMBER, 0, len(trace.registers), 0),
                                     *steps[first + 1:]])(longer)
    return change


def _asked(function: object) -> Change:
    return lambda trace: replace(trace, asked=(*trace.asked, Asked(function, (), (), 0)))


REFUSED: dict[str, Change] = {
    "other arguments": lambda trace: replace(trace, arguments=trace.arguments + 1),
    "unknown step": _steps(lambda steps: [(99, 0, 0, 0), *steps]),
    "register beyond": _steps(lambda steps: [(Op.EQUAL, 1, 60_000, 0), *steps]),
    "into an argument": _steps(lambda steps: [(Op.ADD, 0, 0, 0), *steps]),
    "other function": _asked(PureFunction("os.system")), "no function": _asked("os.system"),
    "kernel of others": _steps(lambda steps: [(op, to, 999 if op == Op.LAUNCH else one, other)
                                              for op, to, one, other in steps]),
    "bytes beyond": lambda trace: replace(trace, data=b""),
    "large number": lambda trace: replace(trace, registers=(*trace.registers, 1 << 63))}
LYING = ((1 << 63) - 1, -1 << 63, -1, 1 << 40)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_arithmetic_or_does_not_fit(compiled: CompiledModel, launched: list[object], name: str,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        blob = _resealed(compiled, REFUSED[name], True, patch)
    with pytest.raises(ClinferError, match=r"a trace of the compiled blob does not fit its program") as caught:
        Core().import_model(blob, "CPU")
    assert caught.value.where == "compiled blob" and not launched


@pytest.mark.parametrize("number", LYING)
@pytest.mark.parametrize("of_kernels", [True, False], ids=["kernels", "shape arithmetic"])
def test_numbers_that_are_none(compiled: CompiledModel, number: int, of_kernels: bool, rng: np.random.Generator,
                               monkeypatch: pytest.MonkeyPatch) -> None:
    """Arithmetic that lies is believed, as kernels are (here none runs); what no tensor can have, or no type can hold,
    is an error of the inference. Other models on the device go on."""
    given = rng.uniform(-1, 1, (3, 5)).astype(np.float32)
    with monkeypatch.context() as patch:
        blob = _resealed(compiled, _number(number), of_kernels, patch)
        patch.setattr(network, "Planner", Planner)
        patch.setattr(driver, "enqueue_nd_range_kernel", lambda *arguments: 0)
        request = Core().import_model(blob, "CPU").create_infer_request()
        for _ in range(2):
            with suppress(ClinferError):
                request.infer(given)
    found = compiled(given)
    assert found[1].tolist() == [15]
    assert_close(found[0].sum(1), np.ones(3, np.float32), 1e-4)
