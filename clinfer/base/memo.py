"""Memories of pure functions, which stand still while a thread records what is computed."""
from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class _Tracing(threading.local):
    """Whether this thread records; then `memo` remembers nothing."""

    is_on = False


TRACING = _Tracing()


def memo(maxsize: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`lru_cache`, except that a function called while this thread records is computed anew."""
    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        cached = lru_cache(maxsize)(function)

        @wraps(function)
        def remembered(*args: P.args, **kwargs: P.kwargs) -> R:
            return function(*args, **kwargs) if TRACING.is_on else cached(*args, **kwargs)  # type: ignore[arg-type]
        return remembered
    return decorate
