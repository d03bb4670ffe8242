"""AMX's tile registers: Linux lets a process use them once it has asked, and ends one that has not."""
from __future__ import annotations

import ctypes
import platform
import sys
from functools import cache

_ARCH_PRCTL = 158
_ARCH_REQ_XCOMP_PERM = 0x1023
_TILE_DATA = 18


@cache
def may_use_tile_registers() -> bool:
    """Ask for the registers, for all threads of this process; whether they were granted. Kernel documentation:
    `Documentation/arch/x86/xstate.rst`."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    system_call = ctypes.CDLL(None).syscall
    system_call.restype = ctypes.c_long
    arguments = map(ctypes.c_long, (_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _TILE_DATA))
    return bool(system_call(*arguments) == 0)
