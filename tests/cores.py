"""Which cores each of several processes has, and how long they all may run."""
from __future__ import annotations

import os
import signal
from collections.abc import Collection
from types import FrameType


def shares_of_cores(processes: int) -> list[Collection[int]]:
    """The cores for each of several processes, two at least; no choice for a single one."""
    if processes == 1 or not hasattr(os, "sched_getaffinity"):
        return [()] * processes
    cores = sorted(os.sched_getaffinity(0))
    size = max(2, len(cores) // processes)
    return [{cores[(number * size + n) % len(cores)] for n in range(size)} for number in range(processes)]


def interrupt_when_terminated() -> None:
    """Let SIGTERM do what SIGINT does, so that who is ended from outside still tells what there is."""
    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt
    signal.signal(signal.SIGTERM, interrupt)
