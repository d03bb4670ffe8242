"""Files in memory, in which a device whose buffers lie in the host's memory works without a copy."""
from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from clinfer.base.layout import Layout
from clinfer.runtime import driver
from clinfer.runtime.extensions import function_of
from clinfer.runtime.memory import Memory, memory_over
from clinfer.runtime.pointers import view_of

if TYPE_CHECKING:
    from clinfer.runtime.engine import Engine

ALIGNMENT = 64
"""Kernels may read whole vectors."""
_set_destructor_callback = driver.optional_function("clSetMemObjectDestructorCallback", ctypes.c_int, None)


class _Mapping(ctypes.c_void_p):
    """A mapping that is let go of with its handle, which owns it from the beginning."""

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if self.value is not None and not is_finalizing():
            _functions()["let_go"](self)


class MappedFile:
    """The contents of a file; they must not change while they are in use. They stay until nobody uses `contents` nor
    any memory over them, and no command reads these."""

    def __init__(self, mapping: _Mapping, nbytes: int) -> None:
        self._mapping = mapping
        self._address = int(_functions()["mapped_address"](mapping))
        self._nbytes = nbytes

    @property
    def contents(self) -> memoryview:
        """All bytes, which keep the mapping."""
        return view_of(self._address, self._nbytes, self._mapping).data.toreadonly()

    def memory(self, engine: Engine, part: memoryview, layout: Layout | None) -> Memory | None:
        """Memory that is some of the bytes, for kernels that only read it; None where the device does not work there
        or `part` is none of them."""
        address = int(np.frombuffer(part, np.uint8).ctypes.data) if part.nbytes else 0
        is_within = self._address <= address <= address + part.nbytes <= self._address + self._nbytes
        if not is_within or address % ALIGNMENT or not engine.capabilities.buffers_in_place:
            return None
        memory = memory_over(engine, address, part.nbytes, layout)
        if memory is None or _functions()["use"](
                self._mapping, _set_destructor_callback, ctypes.c_void_p(memory.cl_buffer.int_ptr)):
            return None
        return memory


def map_file(file: int) -> MappedFile | None:
    """A file that is open; None if it is empty or cannot be mapped, as where clinfer was installed without a C
    compiler."""
    nbytes = os.fstat(file).st_size
    if not nbytes or not _functions() or _set_destructor_callback is None:
        return None
    mapping = _functions()["map_file"](file, ctypes.c_size_t(nbytes))
    return MappedFile(mapping, nbytes) if mapping.value else None


@cache
def _functions() -> dict[str, Any]:
    """The functions in C by their names; none where there is no library."""
    results = {"map_file": _Mapping, "mapped_address": ctypes.c_void_p, "let_go": None, "use": ctypes.c_int}
    found: dict[str, Any] = {name: function_of("clinfer.runtime._mapped_file", f"clinfer_{name}") for name in results}
    if None in found.values():
        return {}
    for name, function in found.items():
        function.restype = results[name]
    return found
