"""The course of one inference on the host and on the device, on one clock."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clinfer.runtime.event_log import EventLog, Kind


@dataclass(frozen=True)
class Span:
    """Something that took from `start_ns` to `end_ns`, since the inference's first call. On the host a `launch` or a
    `transfer` is the call that gives the command, a `wait` what the host spends until the device is done."""

    lane: Literal["host", "device"]
    kind: Kind
    what: str
    start_ns: int
    end_ns: int

    @property
    def duration_ns(self) -> int:
        """Its length."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True)
class Timeline:
    """The spans of an inference by their starts. Those of the host may lie within each other."""

    spans: tuple[Span, ...] = ()

    @property
    def length_ns(self) -> int:
        """From the first call to the end of what ends last."""
        return max((span.end_ns for span in self.spans), default=0)


def timeline_of(event_log: EventLog) -> Timeline:
    """The timeline of a finished inference. Errors: ClinferError where a command failed or was not measured.

    A device has a clock of its own, in which it also tells when the host gave a command (CL_PROFILING_COMMAND_QUEUED),
    and that was within the call that gave it: the two clocks are apart by what fits all calls best.
    """
    if not event_log.host:
        return Timeline()
    times = [note.event.times for note in event_log.device]
    zero = min(note.start_ns for note in event_log.host)
    apart = _apart([(note.given.start_ns - time.queued, note.given.end_ns - time.queued)
                    for note, time in zip(event_log.device, times, strict=True)]) - zero
    spans = [Span("host", note.kind, note.what, note.start_ns - zero, note.end_ns - zero) for note in event_log.host]
    spans += [Span("device", note.kind, note.what, time.start + apart, time.end + apart)
              for note, time in zip(event_log.device, times, strict=True)]
    return Timeline(tuple(sorted(spans, key=lambda span: (span.start_ns, -span.end_ns))))


def _apart(bounds: list[tuple[int, int]]) -> int:
    """The middle of what lies within all (least, most), or between those that contradict each other."""
    return (max(low for low, _ in bounds) + min(high for _, high in bounds)) // 2 if bounds else 0
