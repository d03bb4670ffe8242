"""Engines that tests share."""
from __future__ import annotations

from functools import cache

from clinfer.runtime.device import find_device
from clinfer.runtime.engine import Engine


@cache
def engine_of(device: str) -> Engine:
    """The engine of a device for all tests of this process."""
    return Engine(find_device(device))
