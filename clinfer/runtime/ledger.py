"""How many bytes of each type of memory an engine holds, and the limits checked before it takes more."""
from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from clinfer.base.errors import OutOfMemoryError
from clinfer.base.tracing import log
from clinfer.runtime.memory_types import ALLOCATION_TYPES, HOST_TYPE, AllocationType, MemoryLimits


class Share:
    """Bytes of a ledger that one allocation counts for, until they are given back or nobody refers to this."""

    __slots__ = ("_ledger",)

    def __init__(self, ledger: MemoryLedger) -> None:
        self._ledger = ledger

    def give_back(self) -> None:
        """Count them no more; again is harmless."""
        self._ledger._give_back(self)

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # At the interpreter's end modules lose what this would call.
        if not is_finalizing():
            self.give_back()


class MemoryLedger:
    """Bytes held now and at most, of one engine; safe to use from several threads.

    `limits` may be replaced at any time; they hold for allocations from then on. `lock` is held while one is
    checked and counted. The sums follow from the shares, and are made anew where an interrupt left them half made.
    """

    def __init__(self, device: str, limits: MemoryLimits) -> None:
        self.limits = limits
        # Garbage collection may give memory back while this thread already holds the lock.
        self.lock = threading.RLock()
        self.peak = 0
        self._device = device
        self._shares: dict[int, tuple[AllocationType, int]] = {}
        self._is_summed = True
        self._current = 0
        self._held: dict[AllocationType, int] = dict.fromkeys(ALLOCATION_TYPES, 0)
        self._most: dict[AllocationType, int] = dict.fromkeys(ALLOCATION_TYPES, 0)

    @property
    def current(self) -> int:
        """Bytes held now."""
        with self.lock:
            self._sum()
            return self._current

    def held(self) -> dict[AllocationType, int]:
        """Bytes held now, of each type."""
        with self.lock:
            self._sum()
            return dict(self._held)

    def most(self) -> dict[AllocationType, int]:
        """The most bytes held at any time, of each type by itself."""
        with self.lock:
            return dict(self._most)

    @property
    def on_device(self) -> int:
        """Bytes held now that count for the device's limit."""
        with self.lock:
            self._sum()
            return self._current if self.limits.is_unified else self._current - self._held[HOST_TYPE]

    def reserve(self, nbytes: int, what: str, allocation_type: AllocationType) -> Share:
        """Count an allocation that is about to be made; an error, and nothing counted, beyond a limit."""
        share = Share(self)
        with self.lock:
            self._sum()
            self._check(nbytes, what, allocation_type)
            self._is_summed = False
            self._shares[id(share)] = allocation_type, nbytes
            self._add(nbytes, allocation_type)
            self._is_summed = True
            self.peak = max(self.peak, self._current)
            self._most[allocation_type] = max(self._most[allocation_type], self._held[allocation_type])
            self._tell("Allocate", nbytes, allocation_type)
        return share

    def _give_back(self, share: Share) -> None:
        with self.lock:
            self._sum()
            if id(share) not in self._shares:
                return
            allocation_type, nbytes = self._shares[id(share)]
            self._is_summed = False
            del self._shares[id(share)]
            self._add(-nbytes, allocation_type)
            self._is_summed = True
            self._tell("Free", nbytes, allocation_type)

    def _add(self, nbytes: int, allocation_type: AllocationType) -> None:
        self._current += nbytes
        self._held[allocation_type] += nbytes

    def _sum(self) -> None:
        if not self._is_summed:
            self._current, self._held = 0, dict.fromkeys(ALLOCATION_TYPES, 0)
            for allocation_type, nbytes in self._shares.values():
                self._add(nbytes, allocation_type)
            self._is_summed = True

    def _tell(self, verb: str, nbytes: int, allocation_type: AllocationType) -> None:
        log(1, f"{verb} {nbytes} bytes of {allocation_type} allocation type "
               f"(current={self._held[allocation_type]}; max={self._most[allocation_type]})")

    def check_alone(self, nbytes: int, what: str, allocation_type: AllocationType = "cl_mem") -> None:
        """An error for an allocation that cannot be made, whatever else is held."""
        limits = self.limits
        place, capacity = self._place(allocation_type)
        asked: dict[str, object] = {"bytes asked for": nbytes, "allocation type": allocation_type}
        if nbytes > capacity:
            raise self._error(f"{what} is larger than the {place.split()[0]}'s whole memory",
                              {**asked, place: capacity}, "use a smaller input or batch, or a device with more memory")
        if nbytes > limits.single:
            raise self._error(f"{what} is larger than one allocation may be on this device",
                              {**asked, "limit of one allocation": limits.single},
                              "use a smaller input or batch, or split the tensor")

    def _place(self, allocation_type: AllocationType) -> tuple[str, int]:
        """Where memory of a type lies, and how much there is."""
        limits = self.limits
        on_host = limits.is_on_host(allocation_type)
        return ("host memory", limits.host) if on_host else ("device memory", limits.device)

    def _check(self, nbytes: int, what: str, allocation_type: AllocationType) -> None:
        self.check_alone(nbytes, what, allocation_type)
        limits = self.limits
        place, capacity = self._place(allocation_type)
        there = self._held[HOST_TYPE] if limits.is_on_host(allocation_type) else self.on_device
        asked: dict[str, object] = {"bytes asked for": nbytes, "allocation type": allocation_type}
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
