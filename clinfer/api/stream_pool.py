"""The streams of a compiled model, each with a network, lent to one inference at a time."""
from __future__ import annotations

import threading
import weakref
from collections.abc import Callable

from clinfer.base.errors import ClinferError
from clinfer.base.turns import Token, Turn
from clinfer.network.network import Network
from clinfer.network.reports.record import PlanCounts

_LOOK_S = 0.1
"""How often a thread that waits for a stream looks by itself: an interrupt may keep `tell` from being called."""


class _Place:
    """Holds one network, which is made when it is first needed."""

    __slots__ = ("network", "turn")

    def __init__(self) -> None:
        self.turn = Turn()
        self.network: Network | None = None


class StreamPool:
    """At most `size` networks (each on a stream of its own), made when they are first needed."""

    def __init__(self, make: Callable[[], Network], size: int) -> None:
        self.size = size
        self._make = make
        self._places = [_Place() for _ in range(size)]
        # Reentrant, because its `with` is divided by no interrupt, which that of a condition is.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._waiting: weakref.WeakSet[Token] = weakref.WeakSet()

    def take(self, token: Token) -> Network:
        """A network for this user alone until its token is over, which `tell` makes known; waits while all are lent.
        The first of those that are there comes first. ClinferError where all are lent to this very thread: what has
        them was interrupted, as by a signal's handler, and goes on behind this alone."""
        place = self._free(token)
        if place is None and self._waits_for_itself():
            raise ClinferError("an inference of the model waits for this one, which would wait for it",
                               where="compiled model", values={"streams": self.size},
                               hint="infer when what was interrupted has returned, or compile with more NUM_STREAMS")
        while place is None:
            with self._lock:
                place = self._free(token)
                if place is None:
                    self._waiting.add(token)
                    self._changed.wait(_LOOK_S)
                else:
                    self._waiting.discard(token)
        if place.network is None:
            place.network = self._make()
        return place.network

    def prepare(self) -> None:
        """Make the first network, ready to plan, while nobody uses the pool."""
        network = self._places[0].network = self._make()
        network.prepare()

    def tell(self) -> None:
        """Wake up who waits, after a token is over."""
        with self._lock:
            self._changed.notify()

    def release_memory(self) -> None:
        """Give back the memory of the networks that are not lent, see `Network.release_memory`; who wants one waits.

        While somebody waits, all are lent or about to be.
        """
        for place in self._places:
            if self._is_awaited():
                break
            token = Token()
            try:
                if place.network is not None and place.turn.take(token):
                    place.network.stream.finish()
                    place.network.release_memory()
            finally:
                token.is_over = True
        self.tell()

    def plan_counts(self) -> PlanCounts:
        """What the idle networks planned (bodies left out)."""
        idle = [place.network for place in self._places if place.network is not None and place.turn.user is None]
        return PlanCounts(*map(sum, zip(PlanCounts(), *(network.plan_counts for network in idle), strict=True)))

    def _is_awaited(self) -> bool:
        with self._lock:
            return any(not token.is_over for token in self._waiting)

    def _waits_for_itself(self) -> bool:
        """Whether this thread has all networks."""
        users = [place.turn.user for place in self._places]
        return all(user is not None and user.thread == threading.get_ident() for user in users)

    def _free(self, token: Token) -> _Place | None:
        """A place that is this user's from now on."""
        for place in self._places:
            if place.turn.user is None and place.turn.take(token):
                return place
        return None
