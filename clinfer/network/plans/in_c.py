"""The functions of `tape.c`, and what they are given."""
from __future__ import annotations

import ctypes
from array import array
from functools import partial
from typing import Any

from clinfer.runtime.extensions import function_of
from clinfer.symbolic.tape import Tape
from clinfer.tuning.database import MeasuredRatio

function_in_c = partial(function_of, "clinfer.network.plans._tape")
"""A function by its name; None where clinfer was installed without a compiler."""


class TapeInC(ctypes.Structure):
    """A tape as `tape.c` has it."""

    _fields_ = (*((name, ctypes.c_void_p) for name in ("steps", "end", "registers", "data", "asked", "gives")),
                ("is_computed", ctypes.c_size_t))


class _RatioInC(ctypes.Structure):
    _fields_ = (*((name, ctypes.c_void_p) for name in ("points", "sizes")),
                *((name, ctypes.c_size_t) for name in ("point_count", "size_count")))


_MOST_SIZES = 16
"""For which `tape.c` has room."""


def asked_in_c(tape: Tape) -> tuple[int | None, object]:
    """Where what C knows of the functions is that a tape asks, and what keeps it: measured ratios of sizes that are
    integers. Of all others, Python is asked."""
    table = (_RatioInC * len(tape.asked))()
    kept: list[object] = [table]
    for asked, own in zip(tape.asked, table, strict=True):
        sizes = asked.arguments
        if isinstance(asked.function, MeasuredRatio) and 0 < len(sizes) <= _MOST_SIZES and all(
                type(size) is int and size >= 0 and type(tape.registers[size]) is int for size in sizes):
            points, registers = asked.function.rows(len(sizes)), array("I", sizes)
            own.points, own.sizes = address_of(points), address_of(registers)
            own.point_count, own.size_count = len(points) // (len(sizes) + 1), len(sizes)
            kept += [points, registers]
    return (ctypes.addressof(table), kept) if len(kept) > 1 else (None, None)


def address_of(numbers: array[Any]) -> ctypes.c_void_p:
    """Where an array has its numbers."""
    return ctypes.c_void_p(numbers.buffer_info()[0])
