"""What the host and the device did for one inference, and when: notes of a stream that somebody measures.

Copies from memory to memory and fills have no event: of them only the call is noted.
"""
from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

from clinfer.runtime.event import Event

Kind = Literal["plan", "memory", "launch", "transfer", "wait", "host operation", "kernel"]
Result = TypeVar("Result")


@dataclass(frozen=True)
class HostNote:
    """A call on the host, in nanoseconds of time.perf_counter_ns."""

    kind: Kind
    what: str
    start_ns: int
    end_ns: int


@dataclass(frozen=True, eq=False)
class DeviceNote:
    """A command of the device, and the call on the host that gave it."""

    kind: Kind
    what: str
    event: Event
    given: HostNote


class EventLog:
    """The notes of one inference in the order in which calls ended. One thread at a time."""

    def __init__(self) -> None:
        self.host: list[HostNote] = []
        self.device: list[DeviceNote] = []

    def call(self, kind: Kind, what: str, action: Callable[[], Result]) -> Result:
        """The result of an action, which is noted."""
        start = time.perf_counter_ns()
        result = action()
        self.note(kind, what, start)
        return result

    def note(self, kind: Kind, what: str, start_ns: int) -> HostNote:
        """Note a call that ends now."""
        done = HostNote(kind, what, start_ns, time.perf_counter_ns())
        self.host.append(done)
        return done

    def command(self, kind: Kind, what: str, event: Event, start_ns: int, how: Kind = "launch") -> None:
        """Note a command that was given by a call (noted as `how`) that ends now."""
        self.device.append(DeviceNote(kind, what, event, self.note(how, what, start_ns)))


def noted(event_log: EventLog | None, kind: Kind, what: str, action: Callable[[], Result]) -> Result:
    """The result of an action, which is noted where there is a log."""
    return action() if event_log is None else event_log.call(kind, what, action)
