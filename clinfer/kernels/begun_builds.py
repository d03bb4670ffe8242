"""Kernels that processes began to build by themselves: a driver that ends its process leaves the note of it on disk."""
from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clinfer.base import knobs
from clinfer.base.trusted_folder import TrustedFolder

_LARGEST_NOTE = 1024


class BegunBuilds:
    """Notes in `folder`, by kernel id; none where there is no cache."""

    def __init__(self, folder: Callable[[], TrustedFolder]) -> None:
        self._folder = folder

    def is_open(self, kernel_id: str) -> bool:
        """Whether a process began to build a kernel and did not come to tell what became of it."""
        return knobs.cache_enabled() and self._folder().read(_name(kernel_id), _LARGEST_NOTE) is not None

    @contextmanager
    def noted(self, kernel_id: str) -> Iterator[None]:
        """While it lasts, a kernel is being built."""
        if not knobs.cache_enabled():
            yield
            return
        self._folder().write(_name(kernel_id), [kernel_id.encode()])
        try:
            yield
        finally:
            self._folder().remove(_name(kernel_id))


def _name(kernel_id: str) -> str:
    return hashlib.sha256(kernel_id.encode()).hexdigest()[:32]
