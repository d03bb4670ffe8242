"""Infer requests in the background: waiting, callbacks, a request that is busy, many threads."""
from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from clinfer.api.compiled_model import CompiledModel
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.network.network import Network
from tests.api.models import assert_softmax


def test_background_runs(one: CompiledModel, x: np.ndarray) -> None:
    request = one.create_infer_request()
    mine = x.copy()
    request.start_async(mine)
    mine[:] = np.nan
    request.wait()
    request.wait()
    assert_softmax(request.results[0], x)
    assert request.latency > 0
    request.start_async({"x": x[:1]}, share_inputs=True)
    assert request.wait_for(60_000)
    assert_softmax(request.get_output_tensor().data, x[:1])


def test_waiting_without_a_run(one: CompiledModel) -> None:
    request = one.create_infer_request()
    request.wait()
    assert not request.wait_for(0)
    request.infer(np.zeros((1, 5), np.float32))
    assert request.wait_for(0) and request.wait_for(timeout=1.5)
    for wrong, kind in ((-1, ClinferError), ("1", TypeError), (None, TypeError)):
        with pytest.raises(kind, match="time to wait"):
            request.wait_for(wrong)


def test_an_error_is_over_with_the_next_run(one: CompiledModel, x: np.ndarray) -> None:
    request = one.create_infer_request()
    request.set_callback(lambda _: 1 // 0)
    request.start_async(x)
    with pytest.raises(ZeroDivisionError):
        request.wait()
    assert_softmax(request.infer(x)[0], x)
    request.wait()
    assert request.wait_for(0)


def test_callbacks(one: CompiledModel, x: np.ndarray) -> None:
    request = one.create_infer_request()
    seen: list[Any] = []
    request.set_callback(lambda userdata: seen.append((userdata, request.results[0])), "mine")
    request.start_async(x)
    request.wait()
    request.start_async(x, userdata="other")
    request.wait()
    assert [label for label, _ in seen] == ["mine", "other"]
    assert request.userdata == "other"
    assert_softmax(seen[1][1], x)


def test_a_callback_may_start_the_next_run(one: CompiledModel, x: np.ndarray) -> None:
    request = one.create_infer_request()
    count = iter(range(5))
    results = []

    def again(_: Any) -> None:
        results.append(request.results[0])
        request.wait()
        if next(count, None) is not None:
            request.start_async(x[: len(results) % 3 + 1])

    request.set_callback(again)
    request.start_async(x)
    request.wait()
    assert [len(r) for r in results] == [3, 2, 3, 1, 2, 3]


def test_errors_of_callbacks_come_from_wait(one: CompiledModel, x: np.ndarray) -> None:
    request = one.create_infer_request()
    request.set_callback(lambda _: 1 / 0)
    request.start_async(x)
    with pytest.raises(ZeroDivisionError):
        request.wait()
    request.set_callback(lambda _: None)
    request.start_async(x)
    request.wait()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Executions wait until it is set."""
    opened = threading.Event()
    execute = Network.execute

    def wait_and_execute(network: Network, **arguments: Any) -> Any:
        assert opened.wait(60)
        return execute(network, **arguments)

    monkeypatch.setattr(Network, "execute", wait_and_execute)
    return opened


def test_a_running_request_is_busy(one: CompiledModel, x: np.ndarray, gate: threading.Event) -> None:
    request = one.create_infer_request()
    request.start_async(x)
    try:
        assert not request.wait_for(1)
        for use in (lambda: request.infer(x), lambda: request.start_async(x), request.get_output_tensor,
                    lambda: request.set_input_tensor(ov.Tensor(x)), lambda: request.results, request.get_input_tensor,
                    lambda: request.latency, lambda: request.set_callback(print)):
            with pytest.raises(ClinferError, match="is running"):
                use()
    finally:
        gate.set()
    request.wait()
    assert_softmax(request.results[0], x)


def test_four_threads_with_a_request_each(one: CompiledModel, rng: np.random.Generator) -> None:
    inputs = [[rng.standard_normal((int(n), 5), dtype=np.float32) for n in rng.integers(1, 30, 8)] for _ in range(4)]
    errors: list[BaseException] = []

    def work(arrays: list[np.ndarray]) -> None:
        request = one.create_infer_request()
        try:
            for array in arrays * 2:
                assert_softmax(request.infer(array)[0], array)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(arrays,)) for arrays in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
