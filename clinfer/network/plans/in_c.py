"""The functions of `tape.c`, where clinfer was installed with a compiler at hand."""
from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec


def address_of(numbers: array[int]) -> ctypes.c_void_p:
    """Where an array has its numbers."""
    return ctypes.c_void_p(numbers.buffer_info()[0])


@cache
def function_in_c(name: str) -> Callable[..., int] | None:
    """A function; None where there is none."""
    found = find_spec("clinfer.network.plans._tape")
    if found is None or found.origin is None:
        return None
    try:
        function: Callable[..., int] = getattr(ctypes.CDLL(found.origin), name)
    except (OSError, AttributeError):
        return None
    return function
