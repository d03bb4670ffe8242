"""Memory for one output's results, which is used again once the caller has dropped all arrays in it."""
from __future__ import annotations

from sys import getrefcount

import numpy as np

from clinfer.base.shape import StaticShape

_LEAST = 1 << 16
"""Bytes that are worth it: the C library gives larger arrays back to the system, to get them again page by page."""
_SHARE, _SMALL = 4, 1 << 24
"""Memory of more bytes than `_SMALL` is not kept for results that take less than one part in `_SHARE` of it."""


class ResultMemory:
    """Arrays for results, one after the other, in one piece of memory as long as the caller keeps none of them."""

    __slots__ = ("_memory",)

    def __init__(self) -> None:
        self._memory = np.empty(0, np.uint8)

    def array(self, shape: StaticShape, dtype: np.dtype, nbytes: int) -> np.ndarray:
        """An array of any contents, which takes so many bytes. Errors: MemoryError; OverflowError or ValueError where
        that is more than addresses reach."""
        if nbytes < _LEAST:
            return np.empty(shape, dtype)
        if not nbytes <= self._memory.nbytes <= max(_SHARE * nbytes, _SMALL) or self._references() > _ALONE:
            self._memory = np.empty(nbytes, np.uint8)
        return self._memory[:nbytes].view(dtype).reshape(shape)

    def _references(self) -> int:
        """How many there are to the memory; an array in it is one of them, since NumPy's views refer to the owner."""
        return getrefcount(self._memory)


_ALONE = ResultMemory()._references()
