"""What commands under way work on, which nobody else may keep."""
from __future__ import annotations

from collections import deque

import pyopencl as cl


class Kept:
    """An object, and the event behind which it is needed no more; without one it is, until all is done."""

    __slots__ = ("event", "what")

    def __init__(self, what: object, event: cl.Event | None = None) -> None:
        self.what = what
        self.event = event

    @property
    def is_done(self) -> bool:
        """Whether it is needed no more. A command that failed stays in question; drivers refuse even to tell of one."""
        try:
            return self.event is not None and (
                self.event.command_execution_status == cl.command_execution_status.COMPLETE)
        except cl.Error:
            return False


class KeptObjects(deque[Kept]):
    """Those of one queue, in the order of its commands."""

    def forget_done(self) -> None:
        """Let go of the first ones, as far as they are needed no more."""
        while self and self[0].is_done:
            self.popleft()
