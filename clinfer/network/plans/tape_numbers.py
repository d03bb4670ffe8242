"""The numbers that one tape gives: in C (`tape.c`) where clinfer was installed with a compiler, else in Python."""
from __future__ import annotations

import ctypes
import threading
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from clinfer.network.plans.in_c import TapeInC, function_in_c
from clinfer.symbolic.tape import STEP_BYTES, Ask, Op, Tape, numbers_of

_TURN = threading.Lock()
"""Held while C computes in the registers of a tape: other threads go on meanwhile, and networks share tapes."""


class _Numbers:
    """Those of a tape that asks nothing, and gives them before it launches."""

    __slots__ = ("_count", "_memory", "_tape")

    def __init__(self, tape: Tape, steps: int) -> None:
        """Of that many steps, the last of which give numbers."""
        self._count = steps - tape.computing
        self._memory = ctypes.create_string_buffer(tape.image + tape.code[:steps * STEP_BYTES])
        first = ctypes.addressof(self._memory)
        begin = first + len(tape.image)
        self._tape = TapeInC(registers=first, steps=begin, end=begin + steps * STEP_BYTES, data=None,
                             gives=begin + tape.computing * STEP_BYTES)

    def of(self, function: Callable[..., int], given: Sequence[int]) -> tuple[int, ...] | None:
        try:
            arguments = array("q", given)
        except OverflowError:
            return None
        found = array("q", bytes(8 * self._count))
        with _TURN:
            status = function(ctypes.byref(self._tape), arguments.buffer_info()[0], len(arguments),
                              found.buffer_info()[0])
        return None if status else tuple(found)


_known: WeakKeyDictionary[Tape, _Numbers | None] = WeakKeyDictionary()


def numbers_given(tape: Tape, given: Sequence[int], ask: Ask) -> tuple[Any, ...] | None:
    """What `numbers_of` gives."""
    function = _function_in_c()
    if function is None:
        return numbers_of(tape, given, ask)
    if tape not in _known:
        _known[tape] = _in_c(tape)
    numbers = _known[tape]
    return numbers_of(tape, given, ask) if numbers is None else numbers.of(function, given)


def _in_c(tape: Tape) -> _Numbers | None:
    steps = tape.computing + len(tape.number_registers)
    in_front = all(step[0] == Op.NUMBER for step in tape.steps[tape.computing:steps])
    return _Numbers(tape, steps) if in_front and not tape.asked else None


@cache
def _function_in_c() -> Callable[..., int] | None:
    function: Any = function_in_c("clinfer_numbers")
    if function is not None:
        function.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p
    return function
