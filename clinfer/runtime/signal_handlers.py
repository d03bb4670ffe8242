"""Signals that ask a process to end or to do something stay with Python, whatever a driver makes of them.

LLVM, the compiler within several drivers, puts handlers of its own before those that it finds: at a signal it deletes
its temporary files, even those that it still writes to, puts the handlers back that were there, and raises the signal
again, on the same stack. With two such drivers in one process and the small stack for signals that some libraries give
the main thread, Ctrl-C ends the process by an overflow of that stack (LLVM's lib/Support/Unix/Signals.inc).
"""
from __future__ import annotations

import ctypes
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_ASKING = ("SIGHUP", "SIGINT", "SIGTERM", "SIGUSR1", "SIGUSR2")
"""Those of crashes are the drivers' too: PoCL continues behind a division by zero in a kernel."""
_ACTION_BYTES = 256
"""At least the size of `struct sigaction`, whose first member is the handler's address on Linux."""


class _Symbol(ctypes.Structure):
    """Dl_info of dladdr(3)."""

    _fields_ = (("file", ctypes.c_char_p), ("base", ctypes.c_void_p),
                ("name", ctypes.c_char_p), ("address", ctypes.c_void_p))


@contextmanager
def pythons_handlers_kept() -> Iterator[None]:
    """Put back, at the end, those of Python's handlers that a driver replaced meanwhile; on Linux, elsewhere
    nothing."""
    found = _pythons_actions() if sys.platform == "linux" and _PYTHON else {}
    try:
        yield
    finally:
        if found:
            for number in found.keys() - _pythons_actions().keys():
                if _handler(_action(number)) > int(signal.SIG_IGN):
                    _LIBC.sigaction(number, found[number], None)


def _pythons_actions() -> dict[int, ctypes.Array[ctypes.c_char]]:
    """The actions for signals that Python handles."""
    actions = {number: _action(number) for number in _NUMBERS}
    return {number: action for number, action in actions.items() if _library(_handler(action)) == _PYTHON}


def _action(number: int) -> ctypes.Array[ctypes.c_char]:
    action = ctypes.create_string_buffer(_ACTION_BYTES)
    _LIBC.sigaction(number, None, action)
    return action


def _handler(action: ctypes.Array[ctypes.c_char]) -> int:
    return ctypes.c_size_t.from_buffer(action).value


def _library(address: int) -> int | None:
    """Where the library lies in memory to which an address belongs; None of no library."""
    symbol = _Symbol()
    return symbol.base if _LIBC.dladdr(ctypes.c_void_p(address), ctypes.byref(symbol)) else None


if sys.platform == "linux":
    _LIBC = ctypes.CDLL(None)
    _PYTHON = _library(ctypes.cast(ctypes.pythonapi.PyErr_CheckSignals, ctypes.c_void_p).value or 0)
    _NUMBERS = [int(getattr(signal, name)) for name in _ASKING]
