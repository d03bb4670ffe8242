"""What a replica does besides answering."""
from __future__ import annotations

import platform
import subprocess
import sys

import pytest

pytest.importorskip("ray.serve")

BURST = """
import os
import threading

import numpy as np

from clinfer.serve.replica import give_back_memory


def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


def work():
    together.wait()
    for _ in range(20):
        # The large ones go, small ones that came behind them stay.
        large = [np.ones(1 << 18, np.float32) for _ in range(8)]
        kept.extend(np.ones(256) for _ in large)
        together.wait()
        del large


kept, together = [], threading.Barrier(16)
before = resident()
threads = [threading.Thread(target=work) for _ in range(16)]
for each in threads:
    each.start()
for each in threads:
    each.join()
held = resident()
give_back_memory()
print(held - before, resident() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries give it back, or have no such function")
def test_memory_of_a_burst_is_given_back() -> None:
    """Of sixteen threads with eight arrays of a MiB each at a time, which keep 5 MiB in all."""
    done = subprocess.run([sys.executable, "-c", BURST], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    held, left = map(int, done.stdout.split())
    assert left < 40 and left < held / 2
