"""What a stream of shapes showed: the times of new and of seen shapes, and what each new shape took to prepare."""
from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass

from clinfer.api.ports import Ports, port_name
from clinfer.base.shape import StaticShape, show
from clinfer.cli.measuring import Latency, StreamSample
from clinfer.cli.table import print_line, print_table
from clinfer.network.reports.record import ExecutionRecord

_SHAPES_SHOWN = 20


@dataclass(frozen=True)
class Preparation:
    """What an inference did before it could run: plans made, primitives by what became of their shapes (see
    `clinfer.network.reports.record.ShapeUpdate`), bytes by which memory grew."""

    plans_made: int
    primitives: dict[str, int]
    grown_bytes: int

    @staticmethod
    def of(record: ExecutionRecord) -> Preparation:
        """What a record tells."""
        return Preparation(record.plans_made, dict(Counter(node.shape for node in record.nodes)), record.grown_bytes)

    def __str__(self) -> str:
        plans = f"{self.plans_made} plan{'s' * (self.plans_made != 1)}"
        return ", ".join([plans, *(f"{count} {update}" for update, count in self.primitives.items())])


@dataclass(frozen=True)
class ShapeTimes:
    """One shape of a stream, by input: milliseconds at first sight, and the median of `seen` later times, of which
    `hits` prepared nothing anew. `first`: what was done at first sight."""

    shape: dict[str, str]
    first_ms: float
    seen: int
    seen_ms: float | None
    hits: int
    first: Preparation


@dataclass(frozen=True)
class StreamReport:
    """A stream of shapes: times of shapes never seen before and of seen ones, and the median of their ratios,
    taken shape by shape. `reached` of `shapes` came up. The first shape is the warm-up's and is never new."""

    shapes: int
    reached: int
    new: Latency | None
    seen: Latency | None
    ratio: float | None
    times: tuple[ShapeTimes, ...]


def print_stream(stream: StreamReport) -> None:
    """Print the report as tables."""
    rows = [("shapes", f"{stream.reached} of {stream.shapes} came up, in random order")]
    for name, latency in (("new shape", stream.new), ("seen shape", stream.seen)):
        rows += latency_rows(name, latency)
    rows.append(("new / seen", "-" if stream.ratio is None else f"{stream.ratio:.2f} (median over the shapes)"))
    print_table("stream of shapes", ("what", "value"), rows)
    shown = stream.times[:_SHAPES_SHOWN]
    print_table("shapes", ("shape", "first ms", "seen ms", "times seen", "hits", "bytes grown",
                           "done at first sight"), [
        (" ".join(f"{name}{shape}" for name, shape in t.shape.items()), f"{t.first_ms:.3f}",
         "-" if t.seen_ms is None else f"{t.seen_ms:.3f}", str(t.seen), str(t.hits), str(t.first.grown_bytes),
         str(t.first)) for t in shown])
    if len(shown) < len(stream.times):
        print_line(f"{len(stream.times) - len(shown)} more shapes: --json lists all")


def latency_rows(name: str, latency: Latency | None) -> list[tuple[str, str]]:
    """Rows of a table that tell a latency."""
    if latency is None:
        return [(name, "none measured")]
    return [(f"{name} p50 / p90 / p99", f"{latency.p50:.3f} / {latency.p90:.3f} / {latency.p99:.3f} ms"),
            (f"{name} min / mean / max", f"{latency.min:.3f} / {latency.mean:.3f} / {latency.max:.3f} ms")]


def report_stream(ports: Ports, steps: list[dict[int, StaticShape]], samples: list[StreamSample]) -> StreamReport:
    """The report on a stream of the shapes `steps`, of which the first was seen before."""
    first: dict[int, StreamSample] = {}
    later: dict[int, list[StreamSample]] = {0: []}
    for sample in samples:
        if sample.index in later:
            later[sample.index].append(sample)
        else:
            first[sample.index], later[sample.index] = sample, []
    times = tuple(_times({port_name(ports.inputs[i]): show(shape) for i, shape in steps[index].items()},
                         sample, later[index]) for index, sample in first.items())
    ratios = [t.first_ms / t.seen_ms for t in times if t.seen_ms]
    return StreamReport(len(steps), len(first) + 1, Latency.of([sample.ms for sample in first.values()]),
                        Latency.of([sample.ms for each in later.values() for sample in each]),
                        statistics.median(ratios) if ratios else None, times)


def _times(shape: dict[str, str], first: StreamSample, later: list[StreamSample]) -> ShapeTimes:
    return ShapeTimes(
        shape, first.ms, len(later), statistics.median(sample.ms for sample in later) if later else None,
        sum(not sample.record for sample in later), Preparation.of(first.record))
