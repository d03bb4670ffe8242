"""The cache of reordered weights: constant weights in the formats that some kernels want beside the program's own.

Shared by the networks of a program. What it hands out is in use as long as somebody refers to it.
"""
from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Literal

from clinfer.base.layout import Layout
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.implementation import Implementation, bind
from clinfer.kernels.kernel_cache import LoadedKernels
from clinfer.program.passes.add_required_reorders import reorder_between
from clinfer.runtime.engine import Engine
from clinfer.runtime.launches import WorkSize
from clinfer.runtime.memory import Memory

Outcome = Literal["original", "hit", "reinterpreted", "reordered"]


@dataclass(frozen=True)
class Weights:
    """Weights in a wanted layout, and how they came to be there."""

    memory: Memory
    outcome: Outcome


@dataclass
class _Entry:
    """Reordered weights; `lent`: what was handed out of them. Those that are the original's memory own no bytes."""

    memory: Memory
    owned: int
    lent: weakref.WeakSet[Memory] = field(default_factory=weakref.WeakSet)

    def lend(self, layout: Layout) -> Memory:
        """The memory for one more user."""
        memory = self.memory.reinterpret(layout)
        self.lent.add(memory)
        return memory


_Key = tuple[int, Layout]


class WeightsCache:
    """Weights by tensor and layout, least recently used out first; safe for use by several threads.

    It owns at most `capacity` bytes. Weights in use are never evicted; where they leave no room, there are none.
    """

    def __init__(self, engine: Engine, kernels: LoadedKernels, capacity: int) -> None:
        self.capacity = capacity
        self._engine = engine
        self._kernels = kernels
        self._entries: OrderedDict[_Key, _Entry] = OrderedDict()
        self._reorders: dict[tuple[Layout, Layout], Implementation] = {}
        self._lock = threading.RLock()

    @property
    def owned_bytes(self) -> int:
        """Bytes of device memory that belong to the cache."""
        with self._lock:
            return sum(entry.owned for entry in self._entries.values())

    def reorder(self, present: Layout, wanted: Layout) -> Implementation | None:
        """The implementation that brings weights into another layout, from the cache or made now (its kernels are
        the caller's to build); None where the bytes are the same."""
        if same_bytes(present, wanted):
            return None
        with self._lock:
            found = self._reorders.get((present, wanted))
            if found is None:
                found = self._reorders[present, wanted] = reorder_between(present, wanted, self._engine.capabilities)
            return found

    def get(self, tensor: int, original: Memory, present: Layout, wanted: Layout) -> Weights | None:
        """The weights of a tensor in the wanted layout; None where there is no room.

        `original` holds them in the layout `present`, the program's own. If that is wanted, what was reordered of
        the tensor and is not in use is dropped. The kernels of `reorder` must be ready.
        """
        with self._lock:
            if wanted == present:
                self._reset(tensor)
                return Weights(original, "original")
            entry = self._entries.get((tensor, wanted))
            if entry is not None:
                self._entries.move_to_end((tensor, wanted))
                return Weights(entry.lend(wanted), "hit")
            reorder = self.reorder(present, wanted)
            if reorder is None:
                entry = self._entries[tensor, wanted] = _Entry(original, 0)
                return Weights(entry.lend(wanted), "reinterpreted")
            memory = self._operation(wanted.byte_size)
            if memory is None:
                return None
            self._run(reorder, original, memory)
            entry = self._entries[tensor, wanted] = _Entry(memory, memory.capacity)
            return Weights(entry.lend(wanted), "reordered")

    def release(self) -> None:
        """Give back what is not in use."""
        with self._lock:
            self._entries = OrderedDict((key, entry) for key, entry in self._entries.items() if entry.lent)

    def _reset(self, tensor: int) -> None:
        for key in [key for key, entry in self._entries.items() if key[0] == tensor and not entry.lent]:
            del self._entries[key]

    def _operation(self, nbytes: int) -> Memory | None:
        """Memory of that size: that of evicted weights if it is large enough, else new."""
        owned = self.owned_bytes
        idle = [key for key, entry in self._entries.items() if entry.owned and not entry.lent]
        for key in idle:
            if owned + nbytes <= self.capacity:
                break
            entry = self._entries.pop(key)
            owned -= entry.owned
            if entry.owned >= nbytes and owned + entry.owned <= self.capacity:
                return entry.memory
        if owned + nbytes > self.capacity:
            return None
        return self._engine.allocate_bytes(nbytes, what="reordered weights")

    def _run(self, reorder: Implementation, source: Memory, target: Memory) -> None:
        """Reorder, and wait: networks on other streams use the result."""
        stream = self._engine.create_stream()
        kernels = []
        for part, launch in zip(reorder.stages, bind(reorder, reorder.problem), strict=True):
            kernel = self._engine.create_kernel(self._kernels.program(launch.kernel_id), launch.kernel_id)
            for position, buffer in enumerate(part.buffers):
                kernel.set_buffer(position, source if buffer.kind == "input" else target)
            if launch.block:
                kernel.set_bytes(len(part.buffers), launch.block)
            kernels.append(kernel)
            stream.enqueue(kernel, WorkSize(launch.work.global_size, launch.work.local_size))
        stream.finish()


def same_bytes(one: Layout, other: Layout) -> bool:
    """Whether the same bytes mean the same weights under both layouts."""
    if one.element_type != other.element_type or one.byte_size != other.byte_size or one.shape != other.shape:
        return False
    a, b = TensorView.of(one), TensorView.of(other)
    return a.offset == b.offset and a.blocks == b.blocks and all(
        size == 1 or have == want for size, have, want in zip(a.sizes, a.pitches, b.pitches, strict=True))
