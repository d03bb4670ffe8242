"""Who waits for a stream comes before memory is given back."""
from __future__ import annotations

import threading
import time
from unittest.mock import Mock

import pytest

from clinfer.api import stream_pool
from clinfer.api.stream_pool import StreamPool
from clinfer.base.turns import Token


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
