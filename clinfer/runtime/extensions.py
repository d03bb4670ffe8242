"""The package's own functions in C, which are there where it was installed with a compiler at hand."""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec


@cache
def function_of(module: str, name: str) -> Callable[..., int] | None:
    """A function of a library that was built as that module; None where there is none."""
    found = find_spec(module)
    if found is None or found.origin is None:
        return None
    try:
        function: Callable[..., int] = getattr(ctypes.CDLL(found.origin), name)
    except (OSError, AttributeError):
        return None
    return function
