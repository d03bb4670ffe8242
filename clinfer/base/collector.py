"""Python's collector of reference cycles, which looks at more and more objects while a model is made."""
from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
MOST_UNSEEN = 500_000
"""Objects, some 40 MB, that may become old unseen before all are looked at."""


class _Pauses:
    """The calls for which the collector waits, of all threads; where the program has switched it off, it stays so."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._calls: set[object] = set()
        self._was_enabled = False
        self._unseen = 0

    def begin(self, call: object) -> None:
        with self._lock:
            if not self._calls:
                self._was_enabled = gc.isenabled()
            self._calls.add(call)
            gc.disable()

    def end(self, call: object) -> None:
        """With the last of them what is new becomes old, unseen: else the collector would walk all that a model is made
        of, for some 50 ms, here or in one of the first inferences. Where much has become old so, it looks at all."""
        with self._lock:
            if call not in self._calls:
                return
            self._calls.remove(call)
            if self._calls or not self._was_enabled:
                return
            self._unseen += gc.get_count()[0]
            is_much = self._unseen > MOST_UNSEEN
            # Unfreezing would give back what the program has taken from the collector.
            looks = is_much or gc.get_freeze_count() > 0
            if is_much:
                self._unseen = 0
            if not looks:
                gc.freeze()
                gc.unfreeze()
            gc.enable()
        if looks:
            gc.collect(2 if is_much else 1)


_PAUSES = _Pauses()


def collects_later(function: Callable[P, R]) -> Callable[P, R]:
    """The function, during which the collector waits; what it makes counts as old behind it, unless within another
    one."""
    @wraps(function)
    def collecting(*args: P.args, **kwargs: P.kwargs) -> R:
        call = object()
        try:
            _PAUSES.begin(call)
            return function(*args, **kwargs)
        finally:
            _PAUSES.end(call)
    return collecting
