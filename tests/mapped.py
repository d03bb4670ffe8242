"""What files a process has mapped into its memory, as Linux tells."""
from __future__ import annotations

import gc
import time
from pathlib import Path

import pytest

_MAPS = Path("/proc/self/maps")
_PATIENCE_S = 20

needs_maps = pytest.mark.skipif(not _MAPS.exists(), reason="the system does not tell what is mapped")


def is_mapped(path: Path) -> bool:
    gc.collect()
    return str(path) in _MAPS.read_text()


def stays_mapped(path: Path) -> bool:
    """Whether a file is still mapped though nobody waits for it any more: a driver lets go of buffers in a thread of
    its own."""
    end = time.monotonic() + _PATIENCE_S
    while is_mapped(path):
        if time.monotonic() > end:
            return True
        time.sleep(0.01)
    return False
