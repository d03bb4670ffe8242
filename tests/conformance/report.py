"""The outcomes as a table by operation, and as JSON."""
from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.conformance.outcome import STATUSES, Outcome


def summary(outcomes: Sequence[Outcome]) -> str:
    """The number of cases by status, on one line."""
    counts = Counter(outcome.status for outcome in outcomes)
    return f"{len(outcomes)} cases: " + ", ".join(f"{counts[status]} {status}" for status in STATUSES)


def table(outcomes: Sequence[Outcome]) -> str:
    """A Markdown table: one row per operation, one column per status."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome in outcomes:
        rows[outcome.op][outcome.status] += 1
    rows["**all**"] = Counter(outcome.status for outcome in outcomes)
    lines = [f"| operation | {' | '.join(STATUSES)} |", f"| --- |{' ---: |' * len(STATUSES)}"]
    for op in sorted(rows, key=lambda name: (name == "**all**", name.lower())):
        lines.append(f"| {op} | {' | '.join(str(rows[op][status] or '') for status in STATUSES)} |")
    return "\n".join(lines)


def write_json(outcomes: Sequence[Outcome], device: str, path: Path) -> None:
    """Every outcome, with the device."""
    record = {"device": device, "cases": [asdict(outcome) for outcome in outcomes]}
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
