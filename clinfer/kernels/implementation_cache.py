"""The implementation cache: which specialised implementation is faster for which question, shared by networks."""
from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable

from clinfer.kernels.implementation import Implementation

CAPACITY = 4096


class Answer:
    """What became of a question. Once `settled`, `faster` is the implementation to use instead of the one that
    serves every shape; None: that one stays."""

    __slots__ = ("__weakref__", "faster", "settled")

    def __init__(self) -> None:
        self.settled = False
        self.faster: Implementation | None = None

    def settle(self, faster: Implementation | None) -> None:
        """Give the answer."""
        self.faster = faster
        self.settled = True


class ImplementationCache:
    """Answers by question, least recently used out first; safe for use by several threads."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self._answers: OrderedDict[Hashable, Answer] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: Hashable) -> Answer | None:
        """The answer to a question, given or still to come; None: nobody asked."""
        with self._lock:
            answer = self._answers.get(key)
            if answer is not None:
                self._answers.move_to_end(key)
            return answer

    def add(self, key: Hashable) -> tuple[Answer, bool]:
        """The answer to a question, and whether it is new."""
        with self._lock:
            answer = self._answers.get(key)
            if answer is not None:
                return answer, False
            answer = self._answers[key] = Answer()
            if len(self._answers) > self.capacity:
                self._answers.popitem(last=False)
            return answer, True

    def forget(self, key: Hashable) -> None:
        """Drop a question, so that it may be asked again."""
        with self._lock:
            self._answers.pop(key, None)

    def clear(self) -> None:
        """Drop everything; networks keep what they use."""
        with self._lock:
            self._answers.clear()

    def __len__(self) -> int:
        with self._lock:
            return len(self._answers)
