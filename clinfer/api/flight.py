"""Inferences that lie in the user's queue whole, and may not be done yet."""
from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from clinfer.remote.tensors import RemoteTensor
from clinfer.runtime.event import Event

_NAP_S = 2e-4


@dataclass(frozen=True)
class Flight:
    """One of them. It keeps what the device works on. `start`: when it was asked for (of time.perf_counter).

    `is_apart`: it works on nothing that the host has, so that the request may begin the next inference behind it, and
    be given other tensors.
    """

    event: Event
    start: float
    tensors: Sequence[RemoteTensor]
    is_apart: bool

    @property
    def is_done(self) -> bool:
        """Whether the device is done with it, with success or without."""
        return self.event.is_over

    def wait(self, deadline: float | None) -> bool:
        """Block until it is done, or until that time (of time.monotonic); whether it is. The device's own failure
        comes as an error."""
        if deadline is None:
            self.event.wait()
            return True
        while not self.event.is_complete:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_NAP_S)
        return True


Land: TypeAlias = Callable[[Flight, BaseException | None], None]
"""(the flight, the device's failure) -> None: what to do at its end; it may raise."""


class Flights:
    """Those of one request, of which the last one counts: the queue runs them in their order."""

    def __init__(self) -> None:
        self._flights: deque[Flight] = deque()
        self._lock = threading.Lock()

    @property
    def is_empty(self) -> bool:
        """Whether there is none that nobody waited for."""
        return not self._flights

    def add(self, flight: Flight) -> None:
        """Note one that was enqueued, and let go of those that are done."""
        while self._flights and self._flights[0].is_done:
            self._flights.popleft()
        self._flights.append(flight)

    def end(self, land: Land, deadline: float | None = None) -> bool:
        """Wait for the last one, see `Flight.wait`, and land it; whether it is over. Raises what went wrong in it."""
        return self._end(land, lambda flight: flight.wait(deadline))

    def _end(self, land: Land, wait: Callable[[Flight], bool]) -> bool:
        with self._lock:
            if not self._flights:
                return True
            flight = self._flights[-1]
            error: BaseException | None = None
            try:
                if not wait(flight):
                    return False
            except Exception as caught:
                error = caught
            self._flights.clear()
            land(flight, error)
            return True

    def end_if_done(self, land: Land) -> bool:
        """Land the last one if it is done; whether the request may be used."""
        if not self._flights:
            return True
        last = self._flights[-1]
        if not last.is_done:
            return last.is_apart
        # A wait makes visible to the host what the device wrote, which takes the driver a while.
        return self._end(land, lambda flight: flight.event.is_complete) if last.is_apart else self.end(land)
