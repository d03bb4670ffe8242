"""Memory that runs out at every single allocation: a clear error, all that was taken is given back, all works on."""
from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import clinfer
from clinfer.api import input_slot, request_tensors
from clinfer.base.errors import ClinferError, OutOfMemoryError
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.ledger import MemoryLedger, Share
from tests.network.loop_models import run_length, run_length_model
from tests.oracle import assert_close
from tests.sequences.models import MEMORY_MODELS, OpenModel, Setting

CONFIG = {"INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 2}
SMALL, LARGE = Setting(2, 4, 5, (2, 1), 1), Setting(9, 60, 33, (3, 1), 2)


@pytest.fixture(scope="module")
def core() -> clinfer.Core:
    """An engine of these tests alone, so that nothing else moves its ledger."""
    return clinfer.Core()


@pytest.fixture(autouse=True)
def inputs_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs have no room ahead, so that longer ones need memory."""
    monkeypatch.setattr(input_slot, "_LEAST_BYTES", 1)
    monkeypatch.setattr(request_tensors, "_room", lambda *_: 0)


@lru_cache(maxsize=len(MEMORY_MODELS))
def model_of(name: str) -> OpenModel:
    return OpenModel(name)


class Limit:
    """Counts allocations, and refuses those after the first `allowed` (None: refuses none)."""

    def __init__(self) -> None:
        self.allowed: int | None = None
        self.count = 0

    @contextmanager
    def of(self, allowed: int | None) -> Iterator[None]:
        """Refuse after so many."""
        self.allowed, self.count = allowed, 0
        try:
            yield
        finally:
            self.allowed = None

    def check(self) -> None:
        """One more allocation."""
        self.count += 1
        if self.allowed is not None and self.count > self.allowed:
            raise OutOfMemoryError("no more memory")


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Limit:
    made, reserve = Limit(), MemoryLedger.reserve

    def limited(ledger: MemoryLedger, *given: Any, **more: Any) -> Share:
        made.check()
        return reserve(ledger, *given, **more)
    monkeypatch.setattr(MemoryLedger, "reserve", limited)
    return made


def fails(run: Callable[[], object]) -> None:
    with pytest.raises(ClinferError, match="no more memory"):
        run()


@pytest.mark.parametrize("name", MEMORY_MODELS)
def test_at_every_allocation_of_a_compilation(core: clinfer.Core, device: DeviceInfo, limit: Limit, name: str) -> None:
    """Room for likely sizes is no reason to fail."""
    model, ledger = model_of(name), core.engine(device.name).ledger
    bare = {**CONFIG, "preallocation_bytes": 0}
    gc.collect()
    before = ledger.current
    with limit.of(None):
        core.compile_model(model.model, device.name, bare)
    needed = limit.count
    for allowed in range(needed):
        with limit.of(allowed):
            fails(lambda: core.compile_model(model.model, device.name, bare))
        gc.collect()
        assert ledger.current == before
    with limit.of(needed):
        compiled = core.compile_model(model.model, device.name, CONFIG)
    model.check(compiled, model.inference(SMALL))


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "growing"])
@pytest.mark.parametrize("name", MEMORY_MODELS)
def test_at_every_allocation_of_an_inference(core: clinfer.Core, device: DeviceInfo, limit: Limit, name: str,
                                             is_first: bool) -> None:
    """What is held returns to what it was, and the request, its inputs and other requests work on."""
    model, ledger = model_of(name), core.engine(device.name).ledger
    small, large = model.inference(SMALL), model.inference(LARGE)
    compiled = core.compile_model(model.model, device.name, CONFIG)
    allowed, ended = 0, False
    gc.collect()
    while not ended:
        error: OutOfMemoryError | None = None
        compiled.release_memory()
        request, other = compiled.create_infer_request(), compiled.create_infer_request()
        if not is_first:
            model.check(request.infer, small)
        held = ledger.current
        with limit.of(allowed):
            try:
                request.infer(large.inputs)
                ended = True
            except OutOfMemoryError as caught:
                error = caught  # as long as it is kept, so is all that its traceback refers to
        if error is not None:
            assert "no more memory" in str(error)
            assert ledger.current <= held, f"{allowed} allocations"
            if not is_first and allowed % 2:
                model.check(request.infer, small)
                # Less, where memory that had grown before is made anew.
                assert ledger.current <= held
            else:
                model.check(other.infer, small)
                model.check(lambda _, request=request: request.infer(), large)
        model.check(request.infer, large)
        allowed += 1
    assert allowed > 2


def test_in_loops_of_unknown_length(core: clinfer.Core, device: DeviceInfo, limit: Limit,
                                    rng: np.random.Generator) -> None:
    """The joined results move to larger memory as the loop goes on."""
    compiled = core.compile_model(run_length_model(), device.name, {**CONFIG, "preallocation_bytes": 0})
    ledger = core.engine(device.name).ledger
    rows = rng.uniform(-1, 0, (9, 4)).astype(np.float32)
    inputs = [np.array(9), np.array(True), rows, np.zeros((1, 4), np.float32), np.array(5, np.float32)]
    gc.collect()
    before = ledger.current
    with limit.of(None):
        compiled.infer_new_request(inputs)
    for allowed in range(limit.count):
        compiled.release_memory()
        with limit.of(allowed):
            fails(lambda: compiled.infer_new_request(inputs))
        gc.collect()
        assert ledger.current == before
        results = compiled.infer_new_request(inputs)
        for number, wanted in enumerate(run_length(inputs)):
            assert_close(results[number], wanted, 1e-5)


def test_a_request_that_fails_beside_others(core: clinfer.Core, device: DeviceInfo,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread runs out of memory again and again, the other never gets a wrong result."""
    model = model_of("shared slots")
    compiled = core.compile_model(model.model, device.name, CONFIG)
    works = [model.inference(Setting(2, length, 3, (1,), length)) for length in (3, 40, 7, 60)]
    reserve, failures, refused = MemoryLedger.reserve, [], []
    alone, has_failed = threading.local(), threading.Event()

    def limited(ledger: MemoryLedger, *given: Any, **more: Any) -> Share:
        alone.count = getattr(alone, "count", 0) + 1
        if getattr(alone, "is_unlucky", False) and alone.count % 3 == 0:
            raise OutOfMemoryError("no more memory")
        return reserve(ledger, *given, **more)

    def run(is_unlucky: bool) -> None:
        alone.is_unlucky = is_unlucky
        request = compiled.create_infer_request()
        try:
            # Both may run on one stream: what the other one has made large need not grow.
            assert is_unlucky or has_failed.wait(60)
            for turn in range(60):
                work = works[turn % len(works)]
                try:
                    results = request.infer(work.inputs)
                except OutOfMemoryError:
                    assert is_unlucky
                    refused.append(turn)
                    has_failed.set()
                    continue
                for number, wanted in enumerate(work.expected):
                    assert_close(results[number], wanted, 1e-4)
        except BaseException as error:
            failures.append(error)
    monkeypatch.setattr(MemoryLedger, "reserve", limited)
    threads = [threading.Thread(target=run, args=(is_unlucky,)) for is_unlucky in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not failures and refused, failures
