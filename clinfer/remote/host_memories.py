"""Host tensors that the device reaches itself: which memory stands behind an array, so that nothing is copied."""
from __future__ import annotations

from weakref import WeakValueDictionary

import numpy as np

from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Memory
from clinfer.runtime.pointers import view_of

_memories: WeakValueDictionary[int, Memory] = WeakValueDictionary()


def units_in(memory: Memory) -> np.ndarray:
    """The bytes of a memory that the host sees, as an array that keeps the memory, and by which it is found."""
    _memories[memory.address] = memory
    return view_of(memory.address, memory.nbytes, memory)


def any_there() -> bool:
    """Whether there is any such memory."""
    return bool(_memories)


def find_host_memory(engine: Engine, units: np.ndarray) -> Memory | None:
    """The memory of this engine's context in which an array lies from its beginning on; None if there is none."""
    memory = _memories.get(units.ctypes.data) if _memories else None
    if memory is None or memory.is_released or units.nbytes > memory.nbytes:
        return None
    return memory if memory.engine.cl_context.int_ptr == engine.cl_context.int_ptr else None
