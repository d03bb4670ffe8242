"""`clinfer top`: what a running server does, as a table that follows it."""
from __future__ import annotations

import itertools
import math
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from rich import box
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from clinfer.base.errors import ClinferError
from clinfer.cli.table import print_json, print_table

_PATIENCE_S = 10.0
_QUANTILES = (0.5, 0.9, 0.99)
_COLUMNS = ("model", "version", "requests", "failed", "requests/s", "rows/s", "rows at once", "ongoing", "p50 ms",
            "p90 ms", "p99 ms", "device MiB")
Key = tuple[str, str]


@dataclass(frozen=True)
class Counts:
    """What a version of a model counted until now: answered requests, those of them that failed, rows, computations;
    requests by the most seconds that they took; and what it holds at present."""

    requests: float = 0.0
    failed: float = 0.0
    rows: float = 0.0
    executions: float = 0.0
    latencies: Mapping[float, float] = field(default_factory=dict)
    ongoing: float = 0.0
    device_bytes: float = 0.0


@dataclass(frozen=True)
class Sample:
    """The counts of all ready models by (name, version), at a time of time.monotonic."""

    at: float
    models: Mapping[Key, Counts]


@dataclass(frozen=True)
class Row:
    """A line of the table. Rates and latencies (milliseconds; bounds of a histogram, between which it is linear) are
    those of the interval, or of all requests so far where the interval had none; None: there was none ever."""

    model: str
    version: str
    requests: int
    failed: int
    requests_per_s: float
    rows_per_s: float
    rows_at_once: float | None
    ongoing: int
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None
    device_bytes: int


def follow(address: str, interval_s: float, once: bool, as_json: bool) -> None:
    """Show the server's table until Ctrl-C; `once`, for programs and in a pipe: that of one interval."""
    console = Console()
    before = take_sample(address)
    if once or as_json or not console.is_terminal:
        time.sleep(interval_s)
        rows = rows_of(before, take_sample(address))
        if as_json:
            print_json([asdict(row) for row in rows])
        else:
            print_table("models", _COLUMNS, [_cells(row) for row in rows])
        return
    with suppress(KeyboardInterrupt), Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            now = take_sample(address)
            live.update(_drawn(address, rows_of(before, now)), refresh=True)
            before = now
            time.sleep(interval_s)


def take_sample(address: str) -> Sample:
    """What the server at HOST:PORT counted. Errors: ClinferError where there is none."""
    try:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=_PATIENCE_S) as response:
            text = response.read().decode()
    except (OSError, ValueError, urllib.error.URLError) as error:
        raise ClinferError("the server does not answer", where="command line",
                           values={"address": address, "reason": error},
                           hint="give HOST:PORT of `clinfer serve`, its REST port") from None
    return Sample(time.monotonic(), read_metrics(text))


def read_metrics(text: str) -> dict[Key, Counts]:
    """The counts in what `/metrics` answers. Errors: ClinferError if it is something else."""
    try:
        from prometheus_client.parser import text_string_to_metric_families
    except ModuleNotFoundError as missing:
        raise ClinferError("watching a server needs packages that are not installed", where="command line",
                           values={"missing": missing.name}, hint="pip install clinfer[serve]") from None
    found: dict[Key, dict[str, float]] = {}
    latencies: dict[Key, dict[float, float]] = {}
    try:
        for each in itertools.chain.from_iterable(family.samples for family in text_string_to_metric_families(text)):
            if not each.name.startswith("clinfer_"):
                continue
            key = each.labels["model"], each.labels["version"]
            if each.name == "clinfer_request_seconds_bucket":
                latencies.setdefault(key, {})[float(each.labels["le"])] = each.value
            else:
                name = "_".join(filter(None, (each.name, each.labels.get("outcome"), each.labels.get("stage"))))
                found.setdefault(key, {})[name] = each.value
    except (ValueError, LookupError) as error:
        raise ClinferError("the server's metrics cannot be read", where="command line",
                           values={"reason": error}) from None
    return {key: _counts(values, latencies.get(key, {})) for key, values in found.items()}


def rows_of(before: Sample, now: Sample) -> list[Row]:
    """The table of what happened between two samples, by name and version."""
    return [_row(key, before.models.get(key, Counts()), counts, now.at - before.at)
            for key, counts in sorted(now.models.items())]


def _counts(values: Mapping[str, float], cumulated: Mapping[float, float]) -> Counts:
    succeeded, failed = (values.get(f"clinfer_requests_total_{outcome}", 0.0) for outcome in ("success", "fail"))
    bounds = sorted(cumulated)
    latencies = {bound: cumulated[bound] - (cumulated[bounds[i - 1]] if i else 0.0) for i, bound in enumerate(bounds)}
    return Counts(succeeded + failed, failed, values.get("clinfer_inferences_total", 0.0),
                  values.get("clinfer_executions_total", 0.0), latencies,
                  values.get("clinfer_requests_ongoing", 0.0), values.get("clinfer_device_memory_bytes", 0.0))


def _row(key: Key, before: Counts, now: Counts, seconds: float) -> Row:
    if now.requests < before.requests:
        # A replica was started anew, and counts from zero.
        before = Counts()
    rows, executions = now.rows - before.rows, now.executions - before.executions
    latencies = {bound: count - before.latencies.get(bound, 0.0) for bound, count in now.latencies.items()}
    told = latencies if sum(latencies.values()) > 0 else now.latencies
    p50, p90, p99 = (quantile(told, part) for part in _QUANTILES)
    return Row(*key, int(now.requests), int(now.failed), (now.requests - before.requests) / seconds, rows / seconds,
               rows / executions if executions > 0 else None, int(now.ongoing), p50, p90, p99, int(now.device_bytes))


def quantile(latencies: Mapping[float, float], part: float) -> float | None:
    """Milliseconds that this part of the requests did not exceed, as Prometheus' histogram_quantile reckons it:
    within a bucket times are spread evenly, in the last one they are its lower bound. None without requests."""
    total, so_far, lower = sum(latencies.values()), 0.0, 0.0
    if total <= 0:
        return None
    for bound, count in sorted(latencies.items()):
        if so_far + count >= part * total and count > 0:
            inside = lower if math.isinf(bound) else lower + (bound - lower) * (part * total - so_far) / count
            return 1e3 * inside
        so_far, lower = so_far + count, bound
    return 1e3 * lower


def _cells(row: Row) -> tuple[str, ...]:
    def told(value: float | None) -> str:
        return "-" if value is None else f"{value:.1f}"
    return (row.model, row.version, str(row.requests), str(row.failed), told(row.requests_per_s),
            told(row.rows_per_s), told(row.rows_at_once), str(row.ongoing), told(row.p50_ms), told(row.p90_ms),
            told(row.p99_ms), f"{row.device_bytes / 2**20:.1f}")


def _drawn(address: str, rows: Sequence[Row]) -> Table:
    table = Table(title=f"clinfer at {address}, {time.strftime('%H:%M:%S')} (Ctrl-C ends)", title_justify="left",
                  box=box.SIMPLE_HEAD, caption=None if rows else "no model is ready", expand=True)
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name in ("model", "version") else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(escape, _cells(row)), style="bold red" if row.failed else None)
    return table
