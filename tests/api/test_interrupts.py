"""Interrupts (SIGINT) that arrive while a child process runs, builds or waits, and memory given back meanwhile."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from clinfer.api.core import Core
from clinfer.api.infer_request import InferRequest
from clinfer.base.errors import ClinferError
from clinfer.runtime import driver
from clinfer.runtime.device import DeviceInfo
from tests.faults.kinds import KINDS, Session
from tests.faults.trial import check

ROOT = Path(__file__).resolve().parents[2]
ANSWER_S = 30.0
"""How long a child may take, on a busy machine, for what takes it half a second; without an answer it needs minutes."""

CHILD = """
import sys, time
import numpy as np
import clinfer as ov
from clinfer.frontend.openvino_import import openvino
op, size = ov.opset13, 16
work, device = sys.argv[1:]
weights = np.ones((size, size), np.float32) / size

def chain(rows, length):
    x = node = op.parameter([rows, size], np.float32)
    for _ in range(length):
        node = op.softmax(op.matmul(node, op.constant(weights), False, False), 1)
    return ov.Model([node], [x], "chain")

def told(word):
    print(word, flush=True)

core = ov.Core()
if work == "infer":
    trips, x = op.parameter([], np.int64), op.parameter([-1, size], np.float32)
    state = op.parameter([-1, size], np.float32)
    node = state
    for _ in range(4):
        node = op.softmax(op.matmul(node, op.constant(weights), False, False), 1)
    body = ov.Model([op.constant(np.array([True])), node], [state], "body")
    loop = op.loop(trips, op.constant(np.array([True])))
    loop.set_function(body)
    loop.set_special_body_ports([-1, 0])
    loop.set_merged_input(state, x.output(0), node.output(0))
    request = core.compile_model(ov.Model([loop.get_iter_value(node.output(0), -1)], [trips, x], "loop"),
                                 device).create_infer_request()
    rows = np.ones((200, size), np.float32)
    request.infer([np.int64(2), rows])
    told("begins")
    try:
        request.infer([np.int64(10**9), rows])
    except KeyboardInterrupt:
        told("answered")
    result = next(iter(request.infer([np.int64(1), rows]).values()))
    assert np.allclose(result, 1 / size), result
else:
    model = chain(-1, 1)
    for number in range(200):
        x = op.parameter([-1, 3 + number], np.float32)
        model.add_parameters([x])
        model.add_results([openvino.op.Result(op.softmax(op.cumsum(x, np.int64(1)), 1).output(0))])
    told("begins")
    try:
        core.compile_model(model, device)
    except KeyboardInterrupt:
        told("answered")
    small = core.compile_model(chain(4, 1), device)
    result = next(iter(small(np.ones((4, size), np.float32)).values()))
    assert np.allclose(result, 1 / size), result
told("right")
"""


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
@pytest.mark.slow
@pytest.mark.parametrize("work", ["infer", "build"])
def test_an_interrupt_is_answered_and_what_follows_is_right(work: str, device: DeviceInfo, tmp_path: Path) -> None:
    environment = {**os.environ, "CLINFER_CACHE_DIR": str(tmp_path)} if work == "build" else None
    with subprocess.Popen([sys.executable, "-c", CHILD, work, device.name], cwd=ROOT, env=environment,
                          stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == "begins\n"
            time.sleep(1)
            child.send_signal(signal.SIGINT)
            timer = threading.Timer(ANSWER_S, child.kill)
            timer.start()
            assert child.stdout.readline() == "answered\n"
            timer.cancel()
            assert child.stdout.readline() == "right\n"
            assert child.wait(300) == 0
        finally:
            child.kill()


def test_idle_requests_wait_while_memory_is_given_back(core: Core, device: DeviceInfo) -> None:
    kind = KINDS["dynamic"]
    session = Session(kind.compile(core, device.name))
    check(kind, session, 3, 1)
    is_over, failures = threading.Event(), []

    def give_back() -> None:
        while not is_over.is_set():
            try:
                session.compiled.release_memory()
            except ClinferError as error:
                failures.append(error)

    thread = threading.Thread(target=give_back)
    thread.start()
    try:
        for number in range(30):
            check(kind, session, (3, 40, 1)[number % 3], number)
            assert session.request.latency > 0
    finally:
        is_over.set()
        thread.join()
    assert not failures


@pytest.mark.parametrize("name", ["dynamic", "segments", "loop", "in place"])
def test_a_refused_argument_leaves_no_stale_ones(name: str, device: DeviceInfo,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    kind, real, left = KINDS[name], driver.set_kernel_arg, [-1]
    compiled = kind.compile(Core(), device.name)

    def refusing(*arguments: object) -> int:
        left[0] -= 1
        return -5 if left[0] == 0 else int(real(*arguments))

    monkeypatch.setattr(driver, "set_kernel_arg", refusing)
    refused = 0
    for point in range(1, 40, 2):
        session = kind.session(compiled)
        check(kind, session, 3, point)
        left[0] = point
        try:
            check(kind, session, 40, point)
        except ClinferError:
            refused += 1
        left[0] = -1
        for size in (40, 7, 300):
            check(kind, session, size, point)
    assert refused


def test_an_interrupt_at_the_begin_leaves_the_request_idle(core: Core, device: DeviceInfo,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    kind = KINDS["dynamic"]
    session = Session(kind.compile(core, device.name))
    kept = []

    def interrupt(request: InferRequest) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(InferRequest, "_end_flight", interrupt)
        with pytest.raises(KeyboardInterrupt) as caught:
            session.infer([np.ones((3, 16), np.float32)])
        # As the interactive interpreter does, which shows the last error again if asked.
        kept.append(caught.value)
    check(kind, session, 3, 1)
