"""One program, eight networks, eight queues, eight threads: other shapes all the time, and no wrong result."""
from __future__ import annotations

import threading

import numpy as np
import pytest

import clinfer
from clinfer.runtime.device import DeviceInfo
from tests.sequences.models import STREAM_MODELS, OpenModel, Setting

THREADS, INFERENCES = 8, 100


@pytest.mark.slow
@pytest.mark.parametrize("name", STREAM_MODELS)
def test_many_threads(device: DeviceInfo, rng: np.random.Generator, name: str) -> None:
    model = OpenModel(name)
    work = [model.inference(Setting(int(rng.integers(1, 4)), int(length), 3, tuple(rng.integers(0, 9, 3).tolist()),
                                    int(rng.integers(2**32)))) for length in rng.integers(1, 40, 24)]
    compiled = clinfer.Core().compile_model(model.model, device.name, {
        "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": THREADS, "SPECIALIZE_AFTER": 3})
    orders = [rng.integers(len(work), size=INFERENCES) for _ in range(THREADS)]
    barrier, failures = threading.Barrier(THREADS), []

    def run(order: np.ndarray) -> None:
        request = compiled.create_infer_request()
        barrier.wait(60)
        try:
            for index in order:
                model.check(request.infer, work[index])
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=run, args=(order,)) for order in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not any(thread.is_alive() for thread in threads)
    assert not failures, failures[0]
    assert compiled.pool.plan_counts().reused > 0


@pytest.mark.slow
def test_an_async_queue_of_changing_shapes(device: DeviceInfo, rng: np.random.Generator) -> None:
    model = OpenModel("many decisions")
    work = [model.inference(Setting(2, int(length), 3, tuple(rng.integers(0, 9, 3).tolist()), int(length)))
            for length in rng.integers(1, 40, 24)]
    compiled = clinfer.Core().compile_model(model.model, device.name, {
        "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 3})
    queue, failures = clinfer.AsyncInferQueue(compiled, 6), []

    def compare(request: clinfer.InferRequest, index: int) -> None:
        results = [request.results[i].copy() for i in range(len(request.results))]
        try:
            model.check(lambda _: results, work[index])
        except BaseException as error:
            failures.append(error)
    queue.set_callback(compare)
    for index in rng.integers(len(work), size=200).tolist():
        queue.start_async(work[index].inputs, index)
    queue.wait_all()
    assert not failures, failures[0]
