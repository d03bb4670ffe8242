"""Blocking calls of the driver that an interrupt (Ctrl-C) is answered beside.

Python runs signal handlers in the main thread, between its own instructions: a driver that blocks there holds them up.
So a call that may take long is made in a thread of its own while the main thread waits for it. That costs some 30 us,
and where the same work was quick before it is left out. On Linux such a thread may have a working folder of its own.
"""
from __future__ import annotations

import contextlib
import ctypes
import os
import queue
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

QUICK_S = 0.05
"""Waiting that long at most is not worth a thread."""
_SLICE_S = 0.2
"""The longest that the main thread waits at a stretch; some systems hand interrupts over only then."""


class Pace:
    """How long waits for work of one kind take: behind up to `launches` commands at most QUICK_S, as seen last."""

    __slots__ = ("launches",)

    def __init__(self) -> None:
        self.launches = 0

    def is_quick(self, launches: int) -> bool:
        """Whether a wait for so many commands need not be interrupted."""
        return launches <= self.launches or threading.get_ident() != _MAIN

    def wait(self, launches: int, block: Callable[[], Any]) -> Any:
        """Call what blocks until so many commands are done, and learn from it."""
        if not self.is_quick(launches):
            start = time.perf_counter()
            result = answering(block)
            if time.perf_counter() - start <= QUICK_S:
                self.launches = launches
            return result
        start = time.perf_counter()
        result = block()
        if time.perf_counter() - start > QUICK_S:
            self.launches = 0
        return result


class _Call:
    """One call, and what comes of it."""

    def __init__(self, block: Callable[[], Any]) -> None:
        self.block = block
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_over = threading.Lock()
        self.is_over.acquire()


class _Waiter:
    """A thread that makes one call after the other, and is idle in between; in a working folder of its own, if one is
    named and the system lets it."""

    def __init__(self, folder: str) -> None:
        self.calls: queue.SimpleQueue[_Call] = queue.SimpleQueue()
        self._folder = folder
        threading.Thread(target=self._work, name="clinfer waits", daemon=True).start()

    def _work(self) -> None:
        if self._folder and _leave_common_folder():
            with contextlib.suppress(OSError):
                os.chdir(self._folder)
        while True:
            call = self.calls.get()
            try:
                call.result = call.block()
            except BaseException as error:
                call.error = error
            call.is_over.release()
            # What it refers to is not kept by an idle thread.
            del call
            _idle[self._folder].append(self)


def _leave_common_folder() -> bool:
    """Give this thread a working folder apart from the process's: unshare(2) with CLONE_FS."""
    return sys.platform == "linux" and ctypes.CDLL(None).unshare(_CLONE_FS) == 0


_CLONE_FS = 0x200
_MAIN = threading.main_thread().ident
_idle: defaultdict[str, list[_Waiter]] = defaultdict(list)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)


def answering(block: Callable[[], Any]) -> Any:
    """The result of a call that blocks. An interrupt of the main thread ends the waiting, not the call."""
    return block() if threading.get_ident() != _MAIN else in_folder("", block)


def in_folder(folder: str, block: Callable[[], Any]) -> Any:
    """The same of a call for which that is the working folder, if the system lets threads have their own."""
    call = _Call(block)
    try:
        waiter = _idle[folder].pop()
    except IndexError:
        waiter = _Waiter(folder)
    waiter.calls.put(call)
    while not call.is_over.acquire(timeout=_SLICE_S):
        pass
    if call.error is not None:
        raise call.error
    return call.result
