"""The completion of one command."""
from __future__ import annotations

from functools import partial
from typing import NamedTuple

import pyopencl as cl

from clinfer.runtime import driver
from clinfer.runtime.status import driver_error
from clinfer.runtime.waiting import answering


class EventTimes(NamedTuple):
    """Nanoseconds of the device's clock: the host gave the command, it began, it ended."""

    queued: int
    start: int
    end: int


class Event:
    """When a command is done and, on a profiling stream, how long it ran."""

    __slots__ = ("cl_event",)

    def __init__(self, cl_event: cl.Event) -> None:
        self.cl_event = cl_event

    def wait(self) -> None:
        """Block until the command is complete; the command's own failure comes as an error."""
        # That a command is over makes nothing visible: only a wait does, and that one is short.
        wait = partial(driver.wait_for_all, [self.cl_event])
        status = wait() if self.is_over else answering(wait)
        if status:
            raise driver_error(status, "complete a command")

    @property
    def is_complete(self) -> bool:
        """Whether the command is done; the command's own failure comes as an error."""
        status = int(self.cl_event.command_execution_status)
        if status < 0:
            raise driver_error(status, "complete a command")
        return status == cl.command_execution_status.COMPLETE

    @property
    def is_over(self) -> bool:
        """Whether the command is done, or has failed."""
        return int(self.cl_event.command_execution_status) <= cl.command_execution_status.COMPLETE

    @property
    def duration_ns(self) -> int:
        """Nanoseconds on the device from start to end; needs a profiling stream and a complete command."""
        info = cl.profiling_info
        return self._time(info.END) - self._time(info.START)

    @property
    def times(self) -> EventTimes:
        """When it was what; needs a profiling stream and a complete command."""
        info = cl.profiling_info
        return EventTimes(self._time(info.QUEUED), self._time(info.START), self._time(info.END))

    def _time(self, which: int) -> int:
        try:
            return int(self.cl_event.get_profiling_info(which))
        except cl.Error as error:
            raise driver_error(error, "tell the time of a command") from None
