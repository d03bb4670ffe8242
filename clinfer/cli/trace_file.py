"""`clinfer explain --trace`: the course of an inference for Perfetto and Chrome's tracing, in their Trace Event Format
(https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU)."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from clinfer.cli.explain import Report
from clinfer.cli.page_file import write_file
from clinfer.network.reports.timeline import Span

_LANES = {"host": 1, "device": 2}


def write_trace(report: Report, target: Path) -> None:
    """Write the last inference of a timed report. Errors: ClinferError if the file cannot be written."""
    write_file(json.dumps(trace_data(report), allow_nan=False), target)


def trace_data(report: Report) -> dict[str, Any]:
    """One process with a thread for the host and one for the device; times are microseconds."""
    subject = report.subject
    names = [_name("process_name", 0, f"{Path(subject.model).name} on {subject.device}"),
             _name("thread_name", _LANES["host"], "host"),
             _name("thread_name", _LANES["device"], f"{subject.device}: {subject.device_name}")]
    spans = [_event(report, span) for span in report.timeline.spans]
    return {"displayTimeUnit": "ns", "traceEvents": names + spans,
            "otherData": {"model": subject.model, "device": subject.device_name, "inputs": report.inputs}}


def _name(what: str, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": 1, "tid": thread, "name": what, "args": {"name": name}}


def _event(report: Report, span: Span) -> dict[str, Any]:
    time = report.times.get(span.what) if span.kind == "kernel" else None
    told = {} if time is None else {"kernel": time.kernel, "shapes": " ".join(time.shapes), "GFLOP/s": time.gflops,
                                    "GB/s": time.gbytes}
    return {"ph": "X", "pid": 1, "tid": _LANES[span.lane], "cat": span.kind, "ts": span.start_ns / 1e3,
            "dur": span.duration_ns / 1e3, "name": span.what if span.kind == "kernel" else f"{span.kind}: {span.what}",
            "args": told}
