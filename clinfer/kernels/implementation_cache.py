"""The implementation cache: which specialised implementation is the faster one for which tuning task, for all networks
of a program."""
from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable

from clinfer.kernels.implementation import Implementation

CAPACITY = 4096


class TuningResult:
    """What became of a tuning task. Once `settled`, `faster` is the implementation to use instead of the one that
    serves every shape; None: that one stays."""

    __slots__ = ("__weakref__", "faster", "settled")

    def __init__(self) -> None:
        self.settled = False
        self.faster: Implementation | None = None

    def settle(self, faster: Implementation | None) -> None:
        """Give the result."""
        self.faster = faster
        self.settled = True


class ImplementationCache:
    """Results by task, least recently used out first; safe for use by several threads."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self._results: OrderedDict[Hashable, TuningResult] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: Hashable) -> TuningResult | None:
        """The result of a task, had or still to come; None: nobody asked for it."""
        with self._lock:
            result = self._results.get(key)
            if result is not None:
                self._results.move_to_end(key)
            return result

    def add(self, key: Hashable) -> tuple[TuningResult, bool]:
        """The result of a task, and whether it is new."""
        with self._lock:
            result = self._results.get(key)
            if result is not None:
                return result, False
            result = self._results[key] = TuningResult()
            if len(self._results) > self.capacity:
                self._results.popitem(last=False)
            return result, True

    def forget(self, key: Hashable) -> None:
        """Drop a task, so that it may be given again."""
        with self._lock:
            self._results.pop(key, None)

    def clear(self) -> None:
        """Drop everything; networks keep what they use."""
        with self._lock:
            self._results.clear()

    def __len__(self) -> int:
        with self._lock:
            return len(self._results)
