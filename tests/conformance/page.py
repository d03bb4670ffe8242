"""The generated parts of docs/conformance.md: the table by operation, the known differences, and what is refused."""
from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.outcome import Outcome
from tests.conformance.record import Record
from tests.conformance.report import summary, table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "conformance.md"


def differences_text(record: Record) -> str:
    """One row per reason: whether OpenVINO's CPU plugin does the same, and the cases."""
    lines = ["| reason | OpenVINO's CPU plugin | cases |", "| --- | --- | --- |"]
    for difference in record.known:
        beside = "the same" if difference.is_openvinos else "otherwise"
        lines.append(f"| {difference.reason} | {beside} | {', '.join(f'`{name}`' for name in difference.cases)} |")
    return "\n".join(lines)


def refused_text(record: Record) -> str:
    """One row per reason: how many cases, and why."""
    rows = [f"| {len(refusal.cases)} | {refusal.reason} |" for refusal in record.refused]
    return "\n".join(["| cases | reason |", "| ---: | --- |", *rows])


def table_text(outcomes: Sequence[Outcome]) -> str:
    """The sum of all cases, and the table by operation."""
    return f"{summary(outcomes)}.\n\n{table(outcomes)}"


def part(name: str, text: str) -> str:
    """What stands in a generated part of the page."""
    return _pattern(name).search(text)[2]  # type: ignore[index]


def write(record: Record, outcomes: Sequence[Outcome], path: Path = PAGE) -> None:
    """Put the parts anew into the page."""
    text = path.read_text(encoding="utf-8")
    for name, content in (("differences", differences_text(record)), ("refused", refused_text(record)),
                          ("table", table_text(outcomes))):
        text = _pattern(name).sub(lambda found, content=content: found[1] + content + found[3], text)
    path.write_text(text, encoding="utf-8")


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- {name} -->\n\n)(.*?)(\n\n<!-- end of {name} -->)", re.DOTALL)
