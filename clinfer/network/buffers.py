"""What a network keeps tensors in."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clinfer.base.shape import StaticShape
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Memory


@dataclass(frozen=True)
class Given:
    """A tensor that is given to a network: planar memory of a shape, and the same data on the host if at hand."""

    memory: Memory
    shape: StaticShape
    host_value: np.ndarray | None = None


class GrowingBuffer:
    """Memory that is made anew where more is needed; what it held is lost then. `what` names it in errors.

    `nbytes`: how much there is at present.
    """

    def __init__(self, engine: Engine, what: str) -> None:
        self._engine = engine
        self._what = what
        self._memory: Memory | None = None
        self.nbytes = 0

    def fit(self, nbytes: int) -> Memory:
        """The memory, at least that large."""
        held = self._memory
        if held is None or held.capacity < nbytes:
            if held is not None:
                self._memory, self.nbytes = None, 0
                held.release()
            held = self._memory = self._engine.allocate_bytes(nbytes, what=self._what)
            self.nbytes = held.capacity
        return held
