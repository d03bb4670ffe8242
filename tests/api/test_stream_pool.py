"""Who waits for a stream comes before memory is given back, and nobody waits for what goes on behind it."""
from __future__ import annotations

import signal
import threading
import time
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from openvino import opset13 as op

from clinfer.api import stream_pool
from clinfer.api.core import Core
from clinfer.api.stream_pool import StreamPool
from clinfer.base.errors import ClinferError
from clinfer.base.turns import Token
from clinfer.network.network import Network
from clinfer.runtime.device import DeviceInfo
from tests.oracle import ov


def test_memory_is_not_taken_from_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    # As long as nobody tells that a token is over, it is the waiting thread that has to see it.
    monkeypatch.setattr(stream_pool, "_LOOK_S", 60)
    network, user, waiting = Mock(), Token(), Token()
    pool = StreamPool(lambda: network, 1)
    assert pool.take(user) is network
    thread = threading.Thread(target=pool.take, args=[waiting], daemon=True)
    thread.start()
    while not pool._waiting:
        time.sleep(0.001)
    user.is_over = True
    pool.release_memory()
    network.release_memory.assert_not_called()
    thread.join(30)
    assert not thread.is_alive()
    waiting.is_over = True
    pool.release_memory()
    network.release_memory.assert_called_once()


def test_who_gave_up_keeps_no_memory() -> None:
    network, user, waiting = Mock(), Token(), Token()
    pool = StreamPool(lambda: network, 1)
    pool.take(user)
    pool._waiting.add(waiting)
    user.is_over = waiting.is_over = True
    pool.release_memory()
    network.release_memory.assert_called_once()


def test_a_thread_does_not_wait_for_itself() -> None:
    one, other = Token(), Token()
    pool = StreamPool(Mock, 2)
    pool.take(one)
    pool.take(other)
    with pytest.raises(ClinferError, match="would wait for it"):
        pool.take(Token())
    other.is_over = True
    pool.take(Token())


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="the system has no signals of users")
def test_a_handler_may_not_infer_what_it_interrupts(device: DeviceInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    x = op.parameter([-1], np.float32)
    model = Core().compile_model(ov.Model([op.relu(x)], [x], "relu"), device.name, {"NUM_STREAMS": "1"})
    request, another = model.create_infer_request(), model.create_infer_request()
    given, errors, execute = np.array([-1, 2], np.float32), list[ClinferError](), Network.execute

    def interrupted(*arguments: Any, **named: Any) -> Any:
        signal.raise_signal(signal.SIGUSR1)
        return execute(*arguments, **named)

    def handle(*_: object) -> None:
        with pytest.raises(ClinferError) as raised:
            another.infer([given])
        errors.append(raised.value)

    monkeypatch.setattr(Network, "execute", interrupted)
    before = signal.signal(signal.SIGUSR1, handle)
    try:
        assert np.array_equal(request.infer([given])[0], [0, 2])
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert "would wait for it" in str(errors[0])
    monkeypatch.undo()
    assert np.array_equal(another.infer([given])[0], [0, 2])
