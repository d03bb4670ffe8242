"""What an execution hands out."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clinfer.base.layout import Layout
from clinfer.runtime.event import Event
from clinfer.runtime.memory import Memory
from clinfer.runtime.stream import Stream


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

    def to_numpy(self) -> np.ndarray:
        """The logical values (blocking)."""
        raw = np.empty(self.layout.byte_size, np.uint8)
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
