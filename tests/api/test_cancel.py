"""Cancelling runs, waiting with a limit, latencies, and leaving Python while requests run."""
from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clinfer.api.async_infer_queue import AsyncInferQueue
from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.api.input_slot import InputSlot
from clinfer.api.output_slot import OutputSlot
from clinfer.base.errors import CancelledError, ClinferError
from clinfer.base.turns import Token, Turn
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.network.network import Network
from clinfer.network.plans.plan_cache import SeenPlan
from clinfer.network.repetition import Repetition
from clinfer.runtime.device import DeviceInfo
from tests.api.models import F32, assert_softmax

ROOT = Path(__file__).resolve().parents[2]


class Gate:
    """Stops every execution before its segment number `at` until it is opened; counts the segments that ran."""

    def __init__(self) -> None:
        self.at = 0
        self.reached = threading.Event()
        self.opened = threading.Event()
        self.segments: list[int] = []

    def pass_through(self, number: int) -> None:
        self.segments.append(number)
        if number == self.at:
            self.reached.set()
            assert self.opened.wait(60)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate()
    run = Network._run_segment

    def wait_and_run(network: Network, number: int, *arguments: Any) -> SeenPlan:
        gate.pass_through(number)
        return run(network, number, *arguments)

    # What is repeated has no segments to stop before.
    monkeypatch.setattr(Repetition, "holds", lambda *_: False)
    monkeypatch.setattr(Network, "_run_segment", wait_and_run)
    yield gate
    gate.opened.set()


@pytest.fixture(scope="module")
def segmented(core: Core, device: DeviceInfo) -> CompiledModel:
    """Input `x`; the host reads twice: how many elements are above zero, and how many of their sums."""
    op = ov.opset13
    x = op.parameter([-1, 5], np.float32, name="x")
    x.output(0).set_names({"x"})
    above = op.non_zero(op.greater(x, op.constant(np.float32(0))), output_type="i64")
    sums = op.reduce_sum(above, op.constant(np.array([0])), keep_dims=False)
    again = op.non_zero(op.greater(sums, op.constant(np.int64(2))), output_type="i64")
    model = ov.Model([op.result(again, name="found")], [x], "segmented")
    compiled = core.compile_model(model, device.name, F32)
    assert len(compiled.program.segments) == 3
    return compiled


def found(x: np.ndarray) -> np.ndarray:
    return np.stack(np.nonzero(np.sum(np.nonzero(x > 0), axis=0) > 2))


def test_segments_that_have_not_begun_are_not_enqueued(segmented: CompiledModel, x: np.ndarray, gate: Gate) -> None:
    request = segmented.create_infer_request()
    called: list[Any] = []
    request.set_callback(called.append)
    gate.at = 1
    request.start_async(x)
    assert gate.reached.wait(60)
    request.cancel()
    request.cancel()
    with pytest.raises(ClinferError, match="is running"):
        request.start_async(x)
    gate.opened.set()
    for _ in range(2):
        with pytest.raises(CancelledError, match="was cancelled"):
            request.wait()
    with pytest.raises(CancelledError):
        request.wait_for(60_000)
    assert gate.segments == [0, 1]
    assert called == []
    assert isinstance(CancelledError("x"), RuntimeError)
    np.testing.assert_array_equal(request.infer(x)[0], found(x))
    request.start_async(x[:1])
    request.wait()
    np.testing.assert_array_equal(request.results[0], found(x[:1]))
    assert called == [None]


def test_an_inference_in_another_thread_is_cancelled(segmented: CompiledModel, x: np.ndarray, gate: Gate) -> None:
    request = segmented.create_infer_request()
    errors: list[BaseException] = []

    def infer() -> None:
        try:
            request.infer(x)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=infer)
    thread.start()
    assert gate.reached.wait(60)
    request.cancel()
    gate.opened.set()
    thread.join(60)
    assert [type(error) for error in errors] == [CancelledError]
    np.testing.assert_array_equal(request.infer()[0], found(x))


def test_a_run_that_waits_for_its_turn_ends_at_once(one: CompiledModel, x: np.ndarray, gate: Gate) -> None:
    first, second = one.create_infer_request(), one.create_infer_request()
    mine = x.copy()
    first.start_async(x)
    assert gate.reached.wait(60)
    second.start_async(mine, share_inputs=True)
    second.cancel()
    with pytest.raises(CancelledError):
        second.wait_for(0)
    mine[:] = 0
    second.start_async(x[:2])
    second.cancel()
    second.start_async(x[:1])
    gate.opened.set()
    first.wait()
    second.wait()
    assert_softmax(first.results[0], x)
    assert_softmax(second.results[0], x[:1])


def test_cancelling_what_does_not_run_changes_nothing(one: CompiledModel, x: np.ndarray) -> None:
    request = one.create_infer_request()
    request.cancel()
    request.wait()
    assert_softmax(request.infer(x)[0], x)
    request.cancel()
    request.wait()
    assert_softmax(request.results[0], x)
    request.start_async(x[:1])
    request.wait()
    request.cancel()
    request.wait()
    assert_softmax(request.results[0], x[:1])


def test_a_callback_cancels_the_run_that_it_started(one: CompiledModel, x: np.ndarray) -> None:
    request = one.create_infer_request()
    calls = []

    def again(_: Any) -> None:
        calls.append(threading.get_ident())
        if len(calls) == 1:
            request.start_async(x)
            request.cancel()
            request.wait()

    request.set_callback(again)
    request.start_async(x)
    with pytest.raises(CancelledError):
        request.wait()
    assert len(calls) == 1
    assert_softmax(request.infer(x)[0], x)


def test_a_queue_tells_of_cancelled_runs(one: CompiledModel, x: np.ndarray, gate: Gate) -> None:
    queue = AsyncInferQueue(one, 2)
    done: list[Any] = []
    queue.set_callback(lambda request, label: done.append(label))
    queue.start_async(x, "first")
    assert gate.reached.wait(60)
    queue.start_async(x, "second")
    queue[1].cancel()
    gate.opened.set()
    with pytest.raises(CancelledError):
        queue.wait_all()
    assert done == ["first"]
    queue.start_async(x, "third")
    queue.wait_all()
    assert done == ["first", "third"]


def test_a_callback_of_a_queue_that_raises(one: CompiledModel, x: np.ndarray) -> None:
    queue = AsyncInferQueue(one, 2)
    queue.set_callback(lambda request, label: 1 // label)
    for label in (1, 0, 1):
        queue.start_async(x, label)
        if label == 0:
            with pytest.raises(ZeroDivisionError):
                queue.wait_all()
    queue.wait_all()


@pytest.mark.parametrize("start", ["infer", "start_async"])
def test_a_run_is_cancelled_as_it_takes_the_request(one: CompiledModel, x: np.ndarray, start: str,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    request, take = one.create_infer_request(), Turn.take

    def take_and_cancel(turn: Turn, token: Token) -> bool:
        taken = take(turn, token)
        if turn is request._turn and not token.is_brief:
            request.cancel()
        return taken

    with monkeypatch.context() as patch:
        patch.setattr(Turn, "take", take_and_cancel)
        with pytest.raises(CancelledError):
            getattr(request, start)(x)
            request.wait()
    assert_softmax(request.infer(x)[0], x)


@pytest.mark.parametrize("slot, give", [
    (InputSlot, lambda request, tensor: request.set_input_tensor(tensor)),
    (InputSlot, lambda request, tensor: request.set_tensors({"x": tensor})),
    (OutputSlot, lambda request, tensor: request.set_output_tensor(tensor)),
], ids=["set_input_tensor", "set_tensors", "set_output_tensor"])
def test_an_inference_waits_while_tensors_are_set(one: CompiledModel, x: np.ndarray, monkeypatch: pytest.MonkeyPatch,
                                                  slot: Any, give: Any) -> None:
    request, set_tensor = one.create_infer_request(), slot.set_tensor
    request.infer(np.zeros_like(x))
    tensor, setting, opened = ov.Tensor(x), threading.Event(), threading.Event()

    def wait_and_set(*arguments: Any) -> None:
        setting.set()
        assert opened.wait(60)
        set_tensor(*arguments)

    monkeypatch.setattr(slot, "set_tensor", wait_and_set)
    setter = threading.Thread(target=give, args=(request, tensor))
    setter.start()
    assert setting.wait(60)
    threading.Timer(0.05, opened.set).start()
    result = request.infer()[0]
    setter.join(60)
    assert_softmax(result, x if slot is InputSlot else np.zeros_like(x))
    assert slot is InputSlot or np.shares_memory(request.get_output_tensor().data, tensor.data)
    np.testing.assert_array_equal(tensor.data, x if slot is InputSlot else result)


def test_a_run_that_no_thread_takes(one: CompiledModel, x: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    request = one.create_infer_request()
    with monkeypatch.context() as patch:
        patch.setattr(one.executor, "submit", refuse)
        with pytest.raises(ClinferError, match="in the background: cannot schedule"):
            request.start_async(x)
    assert_softmax(request.infer(x)[0], x)


def test_many_cancelled_runs(one: CompiledModel, rng: np.random.Generator) -> None:
    requests = [one.create_infer_request() for _ in range(3)]
    for _ in range(60):
        arrays = [rng.standard_normal((int(n), 5), dtype=np.float32) for n in rng.integers(1, 9, 3)]
        for request, array in zip(requests, arrays, strict=True):
            request.start_async(array)
        chosen = int(rng.integers(3))
        requests[chosen].cancel()
        for index, (request, array) in enumerate(zip(requests, arrays, strict=True)):
            try:
                assert request.wait_for(60_000)
            except CancelledError:
                assert index == chosen
            else:
                assert_softmax(request.results[0], array)


@pytest.mark.parametrize("start", ["infer", "start_async"])
def test_latency(one: CompiledModel, x: np.ndarray, gate: Gate, start: str) -> None:
    request = one.create_infer_request()
    assert request.latency == 0

    def open_late() -> None:
        gate.reached.wait(60)
        time.sleep(0.05)
        gate.opened.set()

    threading.Thread(target=open_late).start()
    getattr(request, start)(x)
    request.wait()
    assert 50 <= request.latency < 60_000


def test_latency_counts_the_wait_for_a_stream(one: CompiledModel, x: np.ndarray, gate: Gate) -> None:
    first, second = one.create_infer_request(), one.create_infer_request()
    first.start_async(x)
    assert gate.reached.wait(60)
    second.start_async(x)
    begin = time.perf_counter()
    time.sleep(0.03)
    waited = (time.perf_counter() - begin) * 1e3
    gate.opened.set()
    second.wait()
    assert waited <= second.latency


def test_waiting_has_a_limit_in_milliseconds(one: CompiledModel, x: np.ndarray, gate: Gate) -> None:
    request = one.create_infer_request()
    request.start_async(x)
    start = time.monotonic()
    assert request.wait_for(30) is False
    assert 0.03 <= time.monotonic() - start < 30
    assert request.wait_for(0) is False
    gate.opened.set()
    assert request.wait_for(60_000) is True


PREPARE = """
import sys, threading
import numpy as np
from clinfer import AsyncInferQueue, Core
from tests.api.models import softmax_model
compiled = Core().compile_model(softmax_model({"x": [-1, 512]}), sys.argv[1])
x = np.ones((4096, 512), np.float32)
requests = [compiled.create_infer_request() for _ in range(4)]
"""

ENDINGS: dict[str, tuple[str, int]] = {
    "runs in the air": ("for r in requests: r.start_async(x)\n", 0),
    "an exit code": ("for r in requests: r.start_async(x)\nsys.exit(7)\n", 7),
    "an error": ("for r in requests: r.start_async(x)\nraise ValueError\n", 1),
    "a queue that nobody waits for": (
        "queue = AsyncInferQueue(compiled, 3)\nqueue.set_callback(lambda r, u: r.results)\n"
        "for _ in range(5): queue.start_async(x)\n", 0),
    "callbacks that start again for ever": (
        "for r in requests:\n    r.set_callback(lambda u, r=r: r.start_async())\n    r.start_async(x)\n", 0),
    "a cancelled run": ("for r in requests: r.start_async(x)\nfor r in requests: r.cancel()\n", 0),
    "a thread that waits": (
        "for r in requests:\n    r.start_async(x)\n    threading.Thread(target=r.wait).start()\n", 0),
}


@pytest.mark.sampled(1 / 2)
@pytest.mark.parametrize("ending", ENDINGS)
def test_python_ends_while_requests_run(device: DeviceInfo, ending: str) -> None:
    script, code = ENDINGS[ending]
    done = subprocess.run([sys.executable, "-c", PREPARE + script, device.name], cwd=ROOT, timeout=120,
                          capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    if code != 1:
        assert done.stderr == ""
