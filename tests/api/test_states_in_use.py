"""Variable states while a request runs, fails, or is used by several threads."""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clinfer.api.core import Core
from clinfer.base.errors import CancelledError, ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.network.memory.states import RequestStates
from clinfer.network.runner import Runner
from clinfer.runtime.device import DeviceInfo
from tests.api.state_models import F32, Reference, contents, memory_model, rows, same, states, unchanged


@pytest.fixture(scope="module")
def compiled(core: Core, device: DeviceInfo) -> Any:
    return core.compile_model(memory_model(), device.name, F32)


def test_states_are_left_alone_while_a_request_runs(compiled: Any, monkeypatch: pytest.MonkeyPatch,
                                                    rng: np.random.Generator) -> None:
    request, found = compiled.create_infer_request(), []
    state = states(request)["sum"]
    run = Runner.run

    def look(*arguments: Any) -> None:
        for use in (lambda: state.state, lambda: setattr(state, "state", ov.Tensor(np.zeros(1, np.float32))),
                    state.reset, request.reset_state, request.query_state):
            with pytest.raises(ClinferError, match="is running"):
                use()
            found.append(use)
        run(*arguments)

    monkeypatch.setattr(Runner, "run", look)
    request.infer([rows(rng)])
    assert len(found) >= 5


def test_a_reset_waits_for_no_stream(core: Core, device: DeviceInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    """One request has the only stream; states of another are reset and shortened meanwhile."""
    model = core.compile_model(memory_model(), device.name, {**F32, "NUM_STREAMS": 1})
    busy, other = model.create_infer_request(), model.create_infer_request()
    x, begun, over, run = np.ones((2, 4), np.float32), threading.Event(), threading.Event(), Runner.run
    other.infer([x])

    def wait(*arguments: Any) -> None:
        begun.set()
        assert over.wait(30)
        run(*arguments)

    monkeypatch.setattr(Runner, "run", wait)
    state = states(other)
    busy.start_async([x])
    try:
        assert begun.wait(30)
        for use in (state["sum"].reset, lambda: state["rows"].shorten(1), other.reset_state):
            thread = threading.Thread(target=use, daemon=True)
            thread.start()
            thread.join(10)
            assert not thread.is_alive()
    finally:
        over.set()
    busy.wait()


def test_an_inference_waits_for_a_reset(compiled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    request, reset, run, order = compiled.create_infer_request(), RequestStates.reset, Runner.run, []
    thread = threading.Thread(target=lambda: request.infer([np.ones((2, 4), np.float32)]))

    def slow(*arguments: Any) -> None:
        thread.start()
        thread.join(0.1)
        reset(*arguments)
        order.append("reset")

    def noted(*arguments: Any) -> None:
        order.append("inference")
        run(*arguments)

    monkeypatch.setattr(RequestStates, "reset", slow)
    monkeypatch.setattr(Runner, "run", noted)
    request.reset_state()
    thread.join()
    assert order == ["reset", "inference"]


def broken(*_: Any) -> None:
    raise ClinferError("broken")


def interrupted(*_: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("fault", [broken, interrupted])
@pytest.mark.parametrize("late", [False, True])
def test_a_run_that_fails_leaves_states_as_they_were(compiled: Any, monkeypatch: pytest.MonkeyPatch, late: bool,
                                                     rng: np.random.Generator, fault: Callable[..., None]) -> None:
    request, reference = compiled.create_infer_request(), Reference()
    for step in range(6):
        x, run = rows(rng), Runner.run
        before = contents(request)

        def fail(*arguments: Any, run: Callable[..., None] = run) -> None:
            if late:
                run(*arguments)
            fault()

        with monkeypatch.context() as patch:
            patch.setattr(Runner, "run", fail)
            with pytest.raises((ClinferError, KeyboardInterrupt)):
                request.infer([rows(rng)])
        if step:
            unchanged(request, before)
        same(request.infer([x]), reference.infer(x))


def test_a_cancelled_run_leaves_states_as_they_were(compiled: Any, monkeypatch: pytest.MonkeyPatch,
                                                    rng: np.random.Generator) -> None:
    request, reference, x = compiled.create_infer_request(), Reference(), rows(rng)
    same(request.infer([x]), reference.infer(x))
    before, run = contents(request), Runner.run

    def cancel(*arguments: Any) -> None:
        run(*arguments)
        request.cancel()

    with monkeypatch.context() as patch:
        patch.setattr(Runner, "run", cancel)
        with pytest.raises(CancelledError):
            request.infer([rows(rng)])
    unchanged(request, before)
    same(request.infer([x]), reference.infer(x))
