"""Kernels that processes began to build by themselves: a driver that ends its process leaves the note of it on disk."""
from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clinfer.base import knobs
from clinfer.base.trusted_folder import TrustedFolder

_LARGEST_NOTE = 64


class BegunBuilds:
    """Notes in `folder`, by kernel id, of the numbers of processes; none where there is no cache."""

    def __init__(self, folder: Callable[[], TrustedFolder]) -> None:
        self._folder = folder

    def is_open(self, kernel_id: str) -> bool:
        """Whether a process began to build a kernel and ended without telling what became of it."""
        note = self._folder().read(_name(kernel_id), _LARGEST_NOTE) if knobs.cache_enabled() else None
        return note is not None and not (note.isdigit() and _lives(int(note)))

    @contextmanager
    def noted(self, kernel_id: str) -> Iterator[None]:
        """While it lasts, a kernel is being built."""
        if not knobs.cache_enabled():
            yield
            return
        self._folder().write(_name(kernel_id), [str(os.getpid()).encode()])
        try:
            yield
        finally:
            self._folder().remove(_name(kernel_id))


def _lives(process: int) -> bool:
    """Whether there is a process of that number, where the system can be asked without harm to it."""
    if sys.platform == "win32":
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _name(kernel_id: str) -> str:
    return hashlib.sha256(kernel_id.encode()).hexdigest()[:32]
