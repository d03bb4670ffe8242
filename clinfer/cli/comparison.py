"""Two runs side by side: of two models, of one today and before, or of one with two shapes."""
from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clinfer.cli.explain import Report, all_nodes
from clinfer.cli.table import print_line, print_table
from clinfer.cli.timed_run import TimedRun
from clinfer.cli.usage import UsageError

_ROWS_SHOWN = 20


@dataclass(frozen=True)
class Cost:
    """What one primitive took on one side: its type, the kernel that ran, microseconds on the device, shapes of its
    outputs."""

    type: str
    kernel: str
    us: float
    shapes: tuple[str, ...]


@dataclass(frozen=True)
class Side:
    """One run: how it is called, what is told of it as a whole, and its primitives by name."""

    title: str
    facts: dict[str, str]
    costs: dict[str, Cost]

    @property
    def total_us(self) -> float:
        """Device time of all primitives."""
        return sum(cost.us for cost in self.costs.values())


@dataclass(frozen=True)
class Compared:
    """A primitive on both sides; None where it is not there."""

    name: str
    one: Cost | None
    other: Cost | None

    @property
    def more_us(self) -> float:
        """By how much the first side takes longer."""
        return (self.one.us if self.one else 0.0) - (self.other.us if self.other else 0.0)

    @property
    def ratio(self) -> float | None:
        """The first side's time in proportion to the other's; None where either took none."""
        return self.one.us / self.other.us if self.one and self.other and self.one.us and self.other.us else None


@dataclass(frozen=True)
class Comparison:
    """Two sides, and their primitives by how much their times differ, the most first."""

    one: Side
    other: Side
    rows: tuple[Compared, ...]


def compare(one: Side, other: Side) -> Comparison:
    """The comparison of two sides; primitives are the same where they have the same name."""
    rows = [Compared(name, one.costs.get(name), other.costs.get(name)) for name in {**one.costs, **other.costs}]
    return Comparison(one, other, tuple(sorted(rows, key=lambda row: -abs(row.more_us))))


def compare_shapes(report: Report) -> Comparison | None:
    """The runs of a report with its first and its second shapes, if it has both."""
    if len(report.runs) < 2:
        return None
    return compare(*(side_of_run(report, run, _shapes(run.inputs)) for run in report.runs[:2]))


def side_of(report: Report) -> Side:
    """The first run of a report. Errors: UsageError where nothing was timed."""
    if not report.runs:
        raise UsageError("what is not timed cannot be compared", values={"model": report.subject.model,
                                                                         "because": report.untimed})
    side = side_of_run(report, report.runs[0], report.subject.model)
    return Side(side.title, {"device": f"{report.subject.device} ({report.subject.device_name})",
                             "computed in": report.subject.precision,
                             "inputs": _shapes(report.inputs), **side.facts}, side.costs)


def side_of_run(report: Report, run: TimedRun, title: str) -> Side:
    """One run of a report."""
    types = {name: node.type for name, node in all_nodes(report.explanation)}
    costs = {name: Cost(types[name], time.kernel, time.device_us, time.shapes)
             for name, time in run.times.items() if name in types}
    return Side(title, {"first inference": f"{run.first.ms:.2f} ms", "plans made by it": str(run.first.plans_made),
                        "memory grown by it": f"{run.first.grown_bytes / 2**20:.2f} MiB"}, costs)


def side_of_file(path: Path) -> Side:
    """A report that `clinfer explain --json` wrote. Errors: UsageError if it is none, or nothing was timed in it."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["untimed"]:
            raise UsageError("what is not timed cannot be compared", values={"file": path, "because": data["untimed"]})
        costs = {name: Cost(time["type"], time["kernel"], float(time["device_us"]), tuple(time["shapes"]))
                 for name, time in data["times"].items()}
        facts = {"device": f"{data['device']} ({data['device_name']})", "computed in": data["precision"],
                 "inputs": _shapes(data["inputs"])}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise UsageError("this is no report of `clinfer explain --json`",
                         values={"file": path, "reason": f"{type(error).__name__}: {error}"}) from None
    return Side(str(path), facts, costs)


def comparison_data(comparison: Comparison) -> dict[str, Any]:
    """The comparison as JSON-ready data."""
    sides = {name: {"title": side.title, "facts": side.facts, "total_us": side.total_us}
             for name, side in (("one", comparison.one), ("other", comparison.other))}
    return {**sides, "rows": [{**asdict(row), "ratio": row.ratio} for row in comparison.rows]}


def print_comparison(comparison: Comparison, everything: bool) -> None:
    """Print what both are as a whole, and the primitives that differ most, or all."""
    one, other = comparison.one, comparison.other
    names = list(dict.fromkeys((*one.facts, *other.facts)))
    ratio = f", {one.total_us / other.total_us:.2f} times" if other.total_us else ""
    print_table("compared", ("what", one.title, other.title), [
        *((name, one.facts.get(name, "-"), other.facts.get(name, "-")) for name in names),
        ("device time", f"{one.total_us / 1e3:.3f} ms{ratio}", f"{other.total_us / 1e3:.3f} ms")])
    rows = [row for row in comparison.rows if row.one is None or row.other is None or row.one.us or row.other.us]
    shown = rows if everything else rows[:_ROWS_SHOWN]
    print_table("primitives, the greatest differences first", ("primitive", "us", "us of the other", "ratio", "kernel"),
                [_row(row) for row in shown])
    if len(shown) < len(rows):
        print_line(f"{len(rows) - len(shown)} more primitives: --all shows them")


def _row(row: Compared) -> tuple[str, ...]:
    kernels = list(dict.fromkeys(cost.kernel for cost in (row.other, row.one) if cost is not None))
    if row.one is None or row.other is None:
        kernels.append("only in " + ("the other" if row.one is None else "the first"))
    return (row.name, *("-" if cost is None else f"{cost.us:.1f}" for cost in (row.one, row.other)),
            "-" if row.ratio is None else f"{row.ratio:.2f}", " -> ".join(kernels))


def _shapes(inputs: dict[str, str]) -> str:
    return " ".join(f"{name}{shape}" for name, shape in inputs.items()) or "none"
