"""How many bytes of each type of memory an engine holds, and the limits checked before it takes more."""
from __future__ import annotations

import threading

from clinfer.base.errors import OutOfMemoryError
from clinfer.base.tracing import log
from clinfer.runtime.memory_types import ALLOCATION_TYPES, HOST_TYPE, AllocationType, MemoryLimits


class MemoryLedger:
    """Bytes held now and at most, of one engine; safe to use from several threads.

    `limits` may be replaced at any time; they hold for allocations from then on. `lock` is held while one is
    checked and counted.
    """

    def __init__(self, device: str, limits: MemoryLimits) -> None:
        self.limits = limits
        # Garbage collection may give memory back while this thread already holds the lock.
        self.lock = threading.RLock()
        self.current = 0
        self.peak = 0
        self._device = device
        self._held: dict[AllocationType, int] = dict.fromkeys(ALLOCATION_TYPES, 0)
        self._most: dict[AllocationType, int] = dict.fromkeys(ALLOCATION_TYPES, 0)

    def held(self) -> dict[AllocationType, int]:
        """Bytes held now, of each type."""
        with self.lock:
            return dict(self._held)

    def most(self) -> dict[AllocationType, int]:
        """The most bytes held at any time, of each type by itself."""
        with self.lock:
            return dict(self._most)

    @property
    def on_device(self) -> int:
        """Bytes held now that count for the device's limit."""
        return self.current if self.limits.is_unified else self.current - self._held[HOST_TYPE]

    def reserve(self, nbytes: int, what: str, allocation_type: AllocationType) -> None:
        """Count an allocation that is about to be made; an error, and nothing counted, beyond a limit."""
        with self.lock:
            self._check(nbytes, what, allocation_type)
            self.current += nbytes
            self.peak = max(self.peak, self.current)
            self._held[allocation_type] += nbytes
            self._most[allocation_type] = max(self._most[allocation_type], self._held[allocation_type])
            self._tell("Allocate", nbytes, allocation_type)

    def give_back(self, nbytes: int, allocation_type: AllocationType) -> None:
        """Count an allocation that was freed."""
        with self.lock:
            self.current -= nbytes
            self._held[allocation_type] -= nbytes
            self._tell("Free", nbytes, allocation_type)

    def _tell(self, verb: str, nbytes: int, allocation_type: AllocationType) -> None:
        log(1, f"{verb} {nbytes} bytes of {allocation_type} allocation type "
               f"(current={self._held[allocation_type]}; max={self._most[allocation_type]})")

    def _check(self, nbytes: int, what: str, allocation_type: AllocationType) -> None:
        limits = self.limits
        on_host = limits.is_on_host(allocation_type)
        place, capacity = ("host memory", limits.host) if on_host else ("device memory", limits.device)
        there = self._held[HOST_TYPE] if on_host else self.on_device
        asked: dict[str, object] = {"bytes asked for": nbytes, "allocation type": allocation_type}
        if nbytes > capacity:
            raise self._error(f"{what} is larger than the {place.split()[0]}'s whole memory",
                              {**asked, place: capacity}, "use a smaller input or batch, or a device with more memory")
        if nbytes > limits.single:
            raise self._error(f"{what} is larger than one allocation may be on this device",
                              {**asked, "limit of one allocation": limits.single},
                              "use a smaller input or batch, or split the tensor")
        if there + nbytes > capacity:
            raise self._error(f"{what} does not fit beside the memory already in use",
                              {**asked, "in use by this engine": there, place: capacity},
                              "release models or tensors that are not needed, or use a smaller batch")
        if limits.total is not None and self.current + nbytes > limits.total:
            raise self._error(f"{what} does not fit into the limit that was set for the engine",
                              {**asked, "in use by this engine": self.current, "limit": limits.total},
                              "raise the limit, or release models or tensors that are not needed")

    def _error(self, problem: str, values: dict[str, object], hint: str) -> OutOfMemoryError:
        return OutOfMemoryError(problem, where=f"memory of {self._device}", values=values, hint=hint)
