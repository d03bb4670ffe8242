"""A sample of random graphs, always the same one; `make fuzz` runs fresh ones, `make test-full` a thousand of them."""
from __future__ import annotations

import os
import secrets

import pytest

from clinfer.runtime.device import DeviceInfo
from tests.fuzz.session import Session

FULL = os.environ.get("CLINFER_TEST_FULL") == "1"


@pytest.mark.slow
def test_random_graphs(device: DeviceInfo) -> None:
    session = Session(device.name)
    if FULL:
        first = secrets.randbelow(2**31)
        seeds = range(first, first + 1000)
    else:
        seeds = range(60 if device.name.endswith(".0") else 15)
    session.run(seeds)
    assert not session.findings, session.summary()
    assert session.counts["fine"] > len(seeds) * 0.9, session.summary()
