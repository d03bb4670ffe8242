"""The streams of a compiled model, each with a network, lent to one inference at a time."""
from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clinfer.network.network import Network


class StreamPool:
    """At most `size` networks (each on a stream of its own), made when they are first needed."""

    def __init__(self, make: Callable[[], Network], size: int) -> None:
        self.size = size
        self._make = make
        self._idle: list[Network] = []
        self._made = 0
        self._changed = threading.Condition()

    @contextmanager
    def borrow(self) -> Iterator[Network]:
        """A network for this thread alone; waits while all are lent. The last one returned comes first."""
        network = self._take() or self._make_one()
        try:
            yield network
        finally:
            with self._changed:
                self._idle.append(network)
                self._changed.notify()

    def release_memory(self) -> None:
        """Give back the memory of the networks that are not lent, see `Network.release_memory`."""
        with self._changed:
            for network in self._idle:
                network.stream.finish()
                network.release_memory()

    def plan_counts(self) -> tuple[int, int]:
        """How many plans the idle networks made, and how often they ran one again (bodies left out)."""
        with self._changed:
            return sum(n.plans_made for n in self._idle), sum(n.plans_reused for n in self._idle)

    def _take(self) -> Network | None:
        with self._changed:
            while not self._idle and self._made >= self.size:
                self._changed.wait()
            if self._idle:
                return self._idle.pop()
            self._made += 1
            return None

    def _make_one(self) -> Network:
        try:
            return self._make()
        except BaseException:
            with self._changed:
                self._made -= 1
                self._changed.notify()
            raise
