"""How many bytes of device memory an engine holds, and the limits checked before it takes more."""
from __future__ import annotations

import threading

from clinfer.base.errors import ClinferError
from clinfer.base.tracing import log


class MemoryLedger:
    """Bytes held now and at most, of one engine; safe to use from several threads."""

    def __init__(self, device: str, global_limit: int, single_limit: int) -> None:
        self._device = device
        self._global_limit = global_limit
        self._single_limit = single_limit
        # Garbage collection may give memory back while this thread already holds the lock.
        self._lock = threading.RLock()
        self.current = 0
        self.peak = 0

    def reserve(self, nbytes: int, what: str, allocation_type: str) -> None:
        """Count an allocation that is about to be made; an error, and nothing counted, beyond a limit."""
        with self._lock:
            self._check(nbytes, what)
            self.current += nbytes
            self.peak = max(self.peak, self.current)
            current, peak = self.current, self.peak
        self._tell("Allocate", nbytes, allocation_type, current, peak)

    def give_back(self, nbytes: int, allocation_type: str) -> None:
        """Count an allocation that was freed."""
        with self._lock:
            self.current -= nbytes
            current, peak = self.current, self.peak
        self._tell("Free", nbytes, allocation_type, current, peak)

    @staticmethod
    def _tell(verb: str, nbytes: int, allocation_type: str, current: int, peak: int) -> None:
        log(1, f"{verb} {nbytes} bytes of {allocation_type} allocation type (current={current}; max={peak})")

    def _check(self, nbytes: int, what: str) -> None:
        if nbytes > self._global_limit:
            raise self._error("is larger than the device's whole memory", nbytes, what,
                              {"device memory": self._global_limit},
                              "use a smaller input or batch, or a device with more memory")
        if nbytes > self._single_limit:
            raise self._error("is larger than one allocation may be on this device", nbytes, what,
                              {"limit of one allocation": self._single_limit},
                              "use a smaller input or batch, or split the tensor")
        if self.current + nbytes > self._global_limit:
            raise self._error("does not fit beside the memory already in use", nbytes, what,
                              {"in use by this engine": self.current, "device memory": self._global_limit},
                              "release models or tensors that are not needed, or use a smaller batch")

    def _error(self, problem: str, nbytes: int, what: str, values: dict[str, int], hint: str) -> ClinferError:
        return ClinferError(f"{what} {problem}", where=f"memory of {self._device}",
                            values={"bytes asked for": nbytes, **values}, hint=hint)
