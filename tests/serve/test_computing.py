"""Requests computed at once: which, and that nobody's answer depends on it; inferences that nobody waits for."""
from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

from clinfer.base.errors import ClinferError, DeviceUnavailableError
from clinfer.runtime import driver
from clinfer.runtime.device import DeviceInfo
from clinfer.serve.batches import group
from clinfer.serve.compiled import ServedModel
from clinfer.serve.computing import Computing, Ticket
from clinfer.serve.errors import BadRequestError, LostDeviceError, ServeError
from clinfer.serve.messages import Description, InferenceRequest, InferenceResponse, Tensor
from clinfer.serve.options import ModelOptions
from clinfer.serve.rows import why_unbatched


def served(models: Path, name: str, device: str) -> ServedModel:
    return ServedModel(models / f"{name}.xml", device, {"INFERENCE_PRECISION_HINT": "f32"})


def computing(model: ServedModel, max_batch: int) -> Computing:
    return Computing(model, Description("m", "1", model.device, model.inputs, model.outputs, max_batch))


def request(*shape: int) -> InferenceRequest:
    values = np.random.default_rng().standard_normal(shape).astype(np.float32)
    return InferenceRequest((Tensor("x", "FP32", values),))


@pytest.mark.parametrize("precision", ["", "f32"])
def test_nothing_is_specialised_beside_requests(models: Path, device: DeviceInfo, precision: str) -> None:
    compiled = ServedModel(models / "scores.xml", device.name, ModelOptions(precision=precision).properties).compiled
    assert compiled.get_property("SPECIALIZE_AFTER") == 0
    assert not precision or compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name() == precision


@pytest.mark.parametrize(("name", "reason"), [
    ("scores", ""), ("kinds", ""), ("centred", "depends on the other rows"), ("counts", "x is not open"),
    ("texts", "same is not open"),
])
def test_which_models_are_batched(models: Path, first_device: str, name: str, reason: str) -> None:
    told = why_unbatched(served(models, name, first_device))
    assert told.endswith(reason) and bool(told) == bool(reason)


def test_groups() -> None:
    requests = [request(2, 6), request(1, 5), request(2, 6), request(9, 6), request(1, 6), request(3, 5)]
    assert group(requests, 4) == [[0, 2], [1, 5], [3], [4]]
    assert group([], 4) == []


def test_answers_beside_others(models: Path, first_device: str) -> None:
    """Of requests of all sizes, good and bad, each gets what it would get alone."""
    model = served(models, "scores", first_device)
    batched, alone = computing(model, 8), computing(model, 0)
    requests = [request(rows, 6) for rows in (1, 3, 2, 5, 1)] + [request(2, 7), InferenceRequest(())]

    async def ask() -> tuple[list[Any], list[Any]]:
        together = await batched.answer([Ticket(each) for each in requests])
        return together, [(await alone.answer([Ticket(each)]))[0] for each in requests]

    for one, other in zip(*asyncio.run(ask()), strict=True):
        assert type(one) is type(other)
        if isinstance(one, InferenceResponse):
            np.testing.assert_allclose(one.outputs[0].values, other.outputs[0].values, rtol=0, atol=1e-6)
        else:
            assert isinstance(one, BadRequestError)
    found = batched.accounts.so_far
    assert (found.inferences, found.executions) == (12, 2)
    assert {rows: spent.count for rows, spent in found.batches.items()} == {6: 2}
    assert found.durations["success"].count == 5 and found.durations["fail"].count == 2


def test_a_fault_is_not_its_neighbours(models: Path, first_device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = served(models, "scores", first_device)
    run = model.run

    async def run_or_fail(inputs: Any) -> Any:
        if np.isnan(inputs["x"]).any():
            raise ClinferError("not with these")
        return await run(inputs)

    monkeypatch.setattr(model, "run", run_or_fail)
    bad = InferenceRequest((Tensor("x", "FP32", np.full((1, 6), np.nan, np.float32)),))
    outcomes = asyncio.run(computing(model, 8).answer([Ticket(each) for each in (request(1, 6), bad, request(2, 6))]))
    assert [isinstance(each, ServeError) for each in outcomes] == [False, True, False]


def test_a_device_that_is_lost(models: Path, first_device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All requests of the execution are told so, without another try on that device."""
    model = served(models, "scores", first_device)
    answering, run, calls = computing(model, 8), model.run, []

    async def run_counted(inputs: Any) -> Any:
        calls.append(inputs)
        return await run(inputs)

    monkeypatch.setattr(model, "run", run_counted)
    for status in (cl.status_code.DEVICE_NOT_AVAILABLE, cl.status_code.INVALID_COMMAND_QUEUE):
        calls.clear()
        with monkeypatch.context() as lost:
            for name in ("finish", "wait_for_all", "read_buffer", "write_buffer"):
                lost.setattr(driver, name, lambda *_, status=status: int(status))
            outcomes = asyncio.run(answering.answer([Ticket(request(1, 6)), Ticket(request(2, 6))]))
            with pytest.raises(DeviceUnavailableError):
                model.check_device()
        assert [type(each) for each in outcomes] == [LostDeviceError] * 2 and len(calls) == 1


def test_inferences_that_nobody_waits_for(models: Path, first_device: str) -> None:
    model = served(models, "counts", first_device)
    answering = computing(model, 0)

    def counting(times: int) -> Ticket:
        return Ticket(InferenceRequest((Tensor("x", "FP32", np.zeros(4, np.float32)),
                                        Tensor("n", "INT64", np.array(times)))))

    async def ask() -> Any:
        given_up = asyncio.create_task(answering.answer([counting(10**9)]))
        batched = [counting(10**9)]
        in_batch = asyncio.create_task(answering.answer(batched))
        await asyncio.sleep(0.2)
        given_up.cancel()
        batched[0].give_up()
        outcome = (await in_batch)[0]
        assert isinstance(outcome, ServeError) and "cancelled" in str(outcome)
        return (await answering.answer([counting(7)]))[0]

    start = time.monotonic()
    np.testing.assert_array_equal(asyncio.run(ask()).outputs[0].values, np.full(4, 7.0))
    assert time.monotonic() - start < 60


@pytest.mark.parametrize("times", [1, 2])
def test_cancelled_before_it_begins(models: Path, first_device: str, monkeypatch: pytest.MonkeyPatch,
                                    times: int) -> None:
    """A request that was handed to its thread, and that the thread has not looked at yet. Its time is up and its client
    goes: the inference is over before the next one has its turn."""
    model = served(models, "counts", first_device)
    infer, begun, over, requests = model._infer, threading.Event(), threading.Event(), []

    def infer_late(request: Any, inputs: Any) -> Any:
        requests.append(request)
        begun.set()
        time.sleep(0.2)
        try:
            return infer(request, inputs)
        finally:
            over.set()

    async def ask() -> bool:
        running = asyncio.create_task(model.run({"x": np.zeros(4, np.float32), "n": np.array(10**9)}))
        await asyncio.to_thread(begun.wait)
        for _ in range(times):
            running.cancel()
            await asyncio.sleep(0.05)
        await asyncio.wait([running], timeout=20)
        was_over = over.is_set()
        while not over.is_set():
            requests[0].cancel()
            await asyncio.sleep(0.05)
        return was_over and running.cancelled()

    monkeypatch.setattr(model, "_infer", infer_late)
    assert asyncio.run(ask())


def test_the_device_is_asked(models: Path, first_device: str) -> None:
    served(models, "scores", first_device).check_device()
