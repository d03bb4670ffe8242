"""What an execution hands out."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.base.shape import StaticShape
from clinfer.network.memory.buffers import GrowingBuffer
from clinfer.runtime.event import Event
from clinfer.runtime.memory import Memory
from clinfer.runtime.stream import Stream


@lru_cache(maxsize=1024)
def shaped(layout: Layout, shape: StaticShape) -> Layout:
    """A declared layout with the shape of an execution."""
    return layout.with_shape(shape)


def check_capacity(output: object, memory: Memory, nbytes: int) -> None:
    """Raise unless an output (a port, or its name) has room in the memory that the caller gave for it."""
    if memory.capacity < nbytes:
        raise ClinferError("the memory given for an output is too small", where="network",
                           values={"output": output, "needed bytes": nbytes, "given bytes": memory.capacity},
                           hint="give larger memory, or none")


@dataclass(frozen=True)
class NetworkOutput:
    """An output of one execution. `memory` holds it until the network's next execution."""

    layout: Layout
    memory: Memory
    stream: Stream

    @property
    def event(self) -> Event:
        """Complete when the output may be read; made on request, because events cost time."""
        return self.stream.marker()

    def delivered(self, name: str, wanted: Memory | GrowingBuffer | None) -> NetworkOutput:
        """The output of that name in the caller's memory: copied there if its tensor lies elsewhere (an input, a
        constant)."""
        if isinstance(wanted, GrowingBuffer):
            wanted = wanted.fit(self.layout.byte_size)
        if wanted is None or wanted is self.memory:
            return self
        if not wanted.shares_buffer(self.memory):
            check_capacity(name, wanted, self.layout.byte_size)
            self.stream.copy(self.memory, wanted, self.layout.byte_size)
        return NetworkOutput(self.layout, wanted, self.stream)

    def to_numpy(self, raw: np.ndarray | None = None) -> np.ndarray:
        """The logical values (blocking); `raw`: bytes to read into, which they may be views of."""
        raw = np.empty(self.layout.byte_size, np.uint8) if raw is None else raw
        if raw.size:
            self.stream.read(self.memory, raw)
        return self._values(raw)

    def begin_read(self) -> Callable[[], np.ndarray]:
        """Begin to read; what is returned waits for the logical values, but for nothing that is enqueued later."""
        raw = np.empty(self.layout.byte_size, np.uint8)
        event = self.stream.begin_read(self.memory, raw)

        def values() -> np.ndarray:
            self.stream.wait_for([event])
            return self._values(raw)
        return values

    def _values(self, raw: np.ndarray) -> np.ndarray:
        return self.layout.unpack(raw).reshape(self.layout.static_shape)
