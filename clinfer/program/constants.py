"""Constants of a program: values on the host, in device memory, or both."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.runtime.memory import Memory, memory_over
from clinfer.runtime.stream import Stream


@dataclass
class ConstantData:
    """A constant's layout with its values on the host (`array`), on the device (`memory`), or both."""

    layout: Layout
    array: np.ndarray | None = None
    memory: Memory | None = None

    def on_host(self, stream: Stream) -> np.ndarray:
        """The logical values, read back (blocking) if they exist on the device only."""
        if self.array is None:
            if self.memory is None:
                raise ClinferError("a constant has no values", values={"layout": self.layout})
            raw = np.empty(self.layout.byte_size, np.uint8)
            stream.read(self.memory, raw)
            self.array = self.layout.unpack(raw)
        return self.array

    def on_device(self, stream: Stream) -> Memory:
        """The device memory, written on first use; the host values are let go of then."""
        if self.memory is None:
            self.memory = self._upload(stream)
            self.array = None
        return self.memory

    def in_place(self, stream: Stream) -> ConstantData:
        """The same constant in memory that is the host's values, for kernels of this stream that only read it; the
        values stay until the stream is finished. Itself where the device does not work there, or has it already."""
        if self.memory is not None or self.array is None or not stream.engine.capabilities.buffers_in_place:
            return self
        units = self.layout.pack(self.array)
        address = int(units.ctypes.data)
        memory = None if address % units.itemsize or not units.nbytes else memory_over(
            stream.engine, address, units.nbytes, self.layout)
        if memory is None:
            return self
        stream.keep((units, memory))
        return ConstantData(self.layout, self.array, memory)

    def settle(self, stream: Stream, on_device: bool, on_host: bool) -> None:
        """Have the values where they are read and nowhere else; on the host if nobody reads them."""
        array = self.on_host(stream) if on_host or not on_device else None
        if on_device and self.memory is None:
            self.memory = self._upload(stream)
        elif not on_device:
            self.memory = None
        self.array = array

    def _upload(self, stream: Stream) -> Memory:
        if self.array is None:
            raise ClinferError("a constant has no values", values={"layout": self.layout})
        memory = stream.engine.allocate_memory(self.layout, what="constant")
        if self.layout.byte_size:
            stream.write(memory, self.layout.pack(self.array), blocking=True)
        return memory
