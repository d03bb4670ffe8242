"""Queues out of order outlive their last command, which may be what destroys them."""
from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from clinfer.runtime import retired_queues
from clinfer.runtime.engine import Engine

BUSY = 3
MANY = """
import sys
import numpy as np
from clinfer.runtime.device import find_device
from clinfer.runtime.engine import Engine

engine = Engine(find_device(sys.argv[1]))
one, other = (engine.allocate_bytes(4096, "bytes") for _ in range(2))
for _ in range(int(sys.argv[2])):
    stream = engine.create_stream(in_order=False)
    stream.write(one, np.zeros(4096, np.uint8))
    stream.copy_rows(one, other, 5, 7, source_pitch=20, target_pitch=32)
    stream.read(other)
    del stream
"""


@pytest.fixture(autouse=True)
def is_able(engine: Engine) -> None:
    if not engine.capabilities.out_of_order_queue or engine.device.type != "CPU":
        pytest.skip("the device has no such queues")


def _kept(pointer: int) -> bool:
    return any(each.queue.int_ptr == pointer for each in retired_queues._retired)


def test_a_queue_rests_behind_its_last_command(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retired_queues, "REST_S", 1e9)
    stream, memory = engine.create_stream(in_order=False), engine.allocate_bytes(64, "bytes")
    pointer = stream.cl_queue.int_ptr
    stream.write(memory, np.zeros(64, np.uint8))
    stream.read(memory)
    del stream
    until = time.monotonic() + 10
    while time.monotonic() < until and any(each.idle_since is None for each in retired_queues._retired):
        retired_queues.let_go()
        time.sleep(0.01)
    assert _kept(pointer)
    monkeypatch.setattr(retired_queues, "REST_S", 0.0)
    retired_queues.let_go()
    assert not _kept(pointer)


def test_queues_in_order_are_let_go_at_once(engine: Engine) -> None:
    stream = engine.create_stream()
    pointer = stream.cl_queue.int_ptr
    del stream
    assert not _kept(pointer)


@pytest.mark.full
def test_many_queues_on_a_busy_machine(engine: Engine) -> None:
    """Without the rest, one of fewer than 40,000 never came back."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]
    try:
        subprocess.run([sys.executable, "-c", MANY, engine.device.name, "30000"], check=True, timeout=1200,
                       cwd=Path(__file__).parents[2])
    finally:
        for process in busy:
            process.kill()
