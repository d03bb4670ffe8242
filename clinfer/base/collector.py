"""Python's collector of reference cycles, which looks at more and more objects while a model is made."""
from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
_MOST_OLD = 8
"""The objects that were there before for each new one, up to which all are looked at."""
_FEWEST_NEW = 5_000
"""New objects at least for that: of fewer the libraries alone are more than so many times as many, and counting what
was there takes 10 ms in a large process."""


class _Pauses:
    """The calls for which the collector waits, of all threads; where the program has switched it off, it stays so."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._calls: set[object] = set()
        self._was_enabled = False

    def begin(self, call: object) -> None:
        with self._lock:
            if not self._calls:
                self._was_enabled = gc.isenabled()
            self._calls.add(call)
            gc.disable()

    def end(self, call: object) -> None:
        """With the last of them the collector looks at what is new, or at everything where that is not much more: else
        it would do so in one of the first inferences, for 30 ms."""
        with self._lock:
            if call not in self._calls:
                return
            self._calls.remove(call)
            if self._calls or not self._was_enabled:
                return
            new = gc.get_count()[0]
            gc.enable()
        is_much = new >= _FEWEST_NEW and new * _MOST_OLD > len(gc.get_objects(2))
        gc.collect(2 if is_much else 1)


_PAUSES = _Pauses()


def collects_at_the_end(function: Callable[P, R]) -> Callable[P, R]:
    """The function, during which the collector waits; behind it, unless within another one, it has run."""
    @wraps(function)
    def collecting(*args: P.args, **kwargs: P.kwargs) -> R:
        call = object()
        try:
            _PAUSES.begin(call)
            return function(*args, **kwargs)
        finally:
            _PAUSES.end(call)
    return collecting
