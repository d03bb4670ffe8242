"""AsyncInferQueue: every job runs once, callbacks see their own data, errors surface, nothing hangs."""
from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from clinfer.api.async_infer_queue import AsyncInferQueue
from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.api.infer_request import InferRequest
from clinfer.base.errors import ClinferError
from clinfer.runtime.device import DeviceInfo, available_devices
from tests.api.models import assert_softmax, softmax_model


@pytest.fixture(scope="module")
def compiled(core: Core, device: DeviceInfo) -> CompiledModel:
    return core.compile_model(softmax_model({"x": [-1, 5]}), device.name,
                              {"NUM_STREAMS": 2, "INFERENCE_PRECISION_HINT": "f32"})


@pytest.mark.parametrize("jobs", [0, 1, 3])
def test_every_job_runs_once(compiled: CompiledModel, rng: np.random.Generator, jobs: int) -> None:
    queue = AsyncInferQueue(compiled, jobs)
    assert len(queue) == (jobs or 2) == len(list(queue))
    results: dict[int, np.ndarray] = {}
    lock = threading.Lock()

    def keep(request: InferRequest, number: int) -> None:
        with lock:
            assert number not in results
            results[number] = request.results[0]

    queue.set_callback(keep)
    inputs = [rng.standard_normal((int(n), 5), dtype=np.float32) for n in rng.integers(1, 20, 12)]
    for number, x in enumerate(inputs):
        queue.start_async({"x": x}, number)
    queue.wait_all()
    for number, x in enumerate(inputs):
        assert_softmax(results[number], x)
    assert set(queue.userdata) <= set(range(12))


def test_the_least_busy_of_several_devices_is_filled(core: Core, rng: np.random.Generator) -> None:
    names = [device.name for device in available_devices()][:2]
    if len(names) < 2:
        pytest.skip("there is one device")
    several = core.compile_model(softmax_model({"x": [-1, 5]}), f"AUTO:{','.join(names)}", {
        "PERFORMANCE_HINT": "CUMULATIVE_THROUGHPUT", "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 2})
    assert several.get_property("EXECUTION_DEVICES") == names
    assert several.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS") == 4
    queue = AsyncInferQueue(several)
    where = [request.get_compiled_model().engine.device.name for request in queue]
    assert where == [names[0], names[1]] * 2
    hold, begun = threading.Event(), threading.Semaphore(0)
    seen: list[tuple[str, np.ndarray, np.ndarray]] = []

    def keep(request: InferRequest, x: np.ndarray) -> None:
        seen.append((request.get_compiled_model().engine.device.name, x, request.results[0]))
        begun.release()
        assert hold.wait(60)

    queue.set_callback(keep)
    for _ in range(2):
        queue.start_async((x := rng.standard_normal((2, 5), dtype=np.float32)), x)
        assert begun.acquire(timeout=60)
    assert [name for name, *_ in seen] == names
    requests = [several.create_infer_request() for _ in range(2)]
    assert requests[0].get_compiled_model() is not requests[1].get_compiled_model()
    hold.set()
    queue.wait_all()
    for _ in range(12):
        queue.start_async((x := rng.standard_normal((3, 5), dtype=np.float32)), x)
    queue.wait_all()
    assert {name for name, *_ in seen[2:]} == set(names)
    for _, x, result in seen:
        assert_softmax(result, x)
    with pytest.raises(ClinferError, match="cannot be exported"):
        several.export_model()
    with pytest.raises(ClinferError, match="no one context"):
        several.get_context()


def test_idle_requests(compiled: CompiledModel, rng: np.random.Generator) -> None:
    queue = AsyncInferQueue(compiled, 2)
    hold, started = threading.Event(), threading.Semaphore(0)

    def stay(_: InferRequest, __: Any) -> None:
        started.release()
        assert hold.wait(60)

    queue.set_callback(stay)
    x = rng.standard_normal((2, 5), dtype=np.float32)
    for _ in range(2):
        assert queue.is_ready()
        id = queue.get_idle_request_id()
        queue.start_async(x, id)
        assert queue.userdata[id] == id
    for _ in range(2):
        assert started.acquire(timeout=60)
    assert not queue.is_ready()
    hold.set()
    queue.wait_all()
    assert queue.is_ready()
    assert_softmax(queue[0].get_output_tensor().data, x)


def test_requests_take_inputs_ahead(compiled: CompiledModel, rng: np.random.Generator) -> None:
    queue = AsyncInferQueue(compiled, 1)
    x = rng.standard_normal((2, 5), dtype=np.float32)
    request = queue[queue.get_idle_request_id()]
    request.get_input_tensor().shape = [2, 5]
    request.get_input_tensor().data[:] = x
    queue.start_async()
    queue.wait_all()
    assert_softmax(queue[0].results[0], x)


def test_wrong_inputs_leave_the_queue_usable(compiled: CompiledModel, rng: np.random.Generator) -> None:
    queue = AsyncInferQueue(compiled, 1)
    for _ in range(3):
        with pytest.raises(ClinferError, match="wrong rank"):
            queue.start_async(np.zeros(5, np.float32))
    queue.start_async(rng.standard_normal((2, 5), dtype=np.float32))
    queue.wait_all()


def test_errors_surface_once(compiled: CompiledModel, rng: np.random.Generator) -> None:
    queue = AsyncInferQueue(compiled, 2)
    x = rng.standard_normal((2, 5), dtype=np.float32)

    def fail(_: InferRequest, __: Any) -> None:
        raise ValueError("from the callback")

    queue.set_callback(fail)
    queue.start_async(x)
    with pytest.raises(ValueError, match="from the callback"):
        queue.wait_all()
    queue.set_callback(lambda request, userdata: None)
    queue.start_async(x)
    queue.wait_all()


def test_number_of_jobs(compiled: CompiledModel) -> None:
    with pytest.raises(ClinferError, match="jobs: -1"):
        AsyncInferQueue(compiled, -1)
