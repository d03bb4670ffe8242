"""The functions of `tape.c`, and what they are given."""
from __future__ import annotations

import ctypes
from array import array
from functools import partial

from clinfer.runtime.extensions import function_of

function_in_c = partial(function_of, "clinfer.network.plans._tape")
"""A function by its name; None where clinfer was installed without a compiler."""


def address_of(numbers: array[int]) -> ctypes.c_void_p:
    """Where an array has its numbers."""
    return ctypes.c_void_p(numbers.buffer_info()[0])
