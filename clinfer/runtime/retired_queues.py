"""Queues that nobody uses any more, until it is safe to let go of them.

Where the last reference to a queue goes is up to the driver: a command has one until it has ended. Intel's CPU runtime
tells that a command is done before it ends, and destroys a queue out of order on the very thread that carries out its
last command, which then waits for that command for ever (seen with 2026.22.10 on a busy machine). So such queues are
kept for a while behind their last command.
"""
from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass

import pyopencl as cl

REST_S = 1.0
"""Seconds that a queue is kept behind its last command."""


@dataclass(eq=False)
class _Retired:
    """A queue, its last command (None: it takes none any more), and when that was found to be done."""

    queue: cl.CommandQueue
    last: cl.Event | None
    idle_since: float | None = None

    @property
    def is_done(self) -> bool:
        """Whether its last command is, or has failed."""
        complete: int = cl.command_execution_status.COMPLETE
        return self.last is None or self.last.command_execution_status <= complete


_retired: list[_Retired] = []


def retire(queue: cl.CommandQueue) -> None:
    """Let go of a queue of one's own when it is safe; now of those that were retired before, as far as it is. Called
    from any thread, also while Python collects garbage."""
    last = None
    with suppress(cl.Error):
        last = cl.enqueue_marker(queue)
        queue.flush()
    _retired.append(_Retired(queue, last))
    let_go()


def let_go() -> None:
    """Let go of the queues that have rested."""
    now = time.monotonic()
    for each in tuple(_retired):
        if each.idle_since is None:
            each.idle_since = now if each.is_done else None
        elif now - each.idle_since >= REST_S:
            with suppress(ValueError):  # another thread did
                _retired.remove(each)
