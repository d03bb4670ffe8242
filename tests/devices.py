"""Engines that tests share."""
from __future__ import annotations

import os
from functools import cache

from clinfer.runtime.device import find_device
from clinfer.runtime.engine import Engine


@cache
def engine_of(device: str) -> Engine:
    """The engine of a device for all tests of this process; beside other processes it builds in one helper."""
    return Engine(find_device(device), build_workers=1 if "PYTEST_XDIST_WORKER" in os.environ else 0)
