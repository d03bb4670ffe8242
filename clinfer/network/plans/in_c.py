"""The functions of `tape.c`, and what they are given."""
from __future__ import annotations

import ctypes
from array import array
from functools import partial

from clinfer.runtime.extensions import function_of

function_in_c = partial(function_of, "clinfer.network.plans._tape")
"""A function by its name; None where clinfer was installed without a compiler."""


class TapeInC(ctypes.Structure):
    """A tape as `tape.c` has it."""

    _fields_ = (*((name, ctypes.c_void_p) for name in ("steps", "end", "registers", "data", "gives")),
                ("is_computed", ctypes.c_size_t))


def address_of(numbers: array[int]) -> ctypes.c_void_p:
    """Where an array has its numbers."""
    return ctypes.c_void_p(numbers.buffer_info()[0])
