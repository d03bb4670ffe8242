"""What `clinfer explain` prints: the costliest primitives, or all, and what became of the model's layers."""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clinfer.cli.choices import Sorting
from clinfer.cli.comparison import Comparison, comparison_data, print_comparison
from clinfer.cli.explain import Report, all_nodes, as_data, time_key
from clinfer.cli.table import print_json, print_line, print_table
from clinfer.cli.usage import UsageError
from clinfer.kernels.cost import show_time
from clinfer.program.explanation import ExplainedKernel, ExplainedNode

_NAMES_SHOWN = 3


@dataclass(frozen=True)
class Selection:
    """What is shown: the first `top` primitives (None: all, and all that is known of them), sorted; or one `layer`."""

    top: int | None = 10
    sorting: Sorting = Sorting.time
    layer: str = ""


@dataclass(frozen=True)
class _Line:
    """A primitive under its name in the report: what it cost, the kernel that ran, the shapes of its outputs."""

    name: str
    node: ExplainedNode
    device_us: float
    host_us: float
    ran: str
    shapes: tuple[str, ...]


def print_report(report: Report, as_json: bool, selection: Selection, comparisons: Sequence[Comparison] = ()) -> None:
    """Print what is selected of the report and the comparisons as tables, or all of it as JSON."""
    if as_json:
        print_json({**as_data(report), "comparisons": [comparison_data(each) for each in comparisons]})
    elif selection.layer:
        _print_layer(report, selection.layer)
    else:
        print_line(str(report.subject))
        _print_primitives(report, selection)
        print_table("summary", ("what", "value"), summary(report))
        for each in comparisons:
            print_comparison(each, selection.top is None)
        if selection.top is None:
            _print_reasons(report)


def _print_primitives(report: Report, selection: Selection) -> None:
    if not report.explanation.nodes:
        return
    lines = _sorted(report, selection.sorting)
    shown = lines[:selection.top]
    timed = bool(report.times)
    columns = ("primitive", "type", "kernel", *(("us", "share", "of peak") if timed else ()), "output")
    print_table(_title(selection.sorting, timed), columns, [_row(report, line) for line in shown])
    if len(shown) < len(lines):
        print_line(f"{len(lines) - len(shown)} more primitives: --top {len(lines)} shows them, --all the reasons too")


def _title(sorting: Sorting, timed: bool) -> str:
    if sorting in (Sorting.time, Sorting.host) and timed:
        return "costliest primitives" + " of the host" * (sorting is Sorting.host)
    by_name = sorting in (Sorting.type, Sorting.kernel, Sorting.name)
    return f"primitives by {sorting.value}" if by_name else "primitives in the order of execution"


def _sorted(report: Report, sorting: Sorting) -> list[_Line]:
    """The lines of all primitives. The costliest come first; what is alike stays in the order of execution."""
    lines = [_line(report, name, node) for name, node in all_nodes(report.explanation)]
    match sorting:
        case Sorting.time:
            return sorted(lines, key=lambda line: -line.device_us)
        case Sorting.host:
            return sorted(lines, key=lambda line: -line.host_us)
        case Sorting.type:
            return sorted(lines, key=lambda line: line.node.type)
        case Sorting.kernel:
            return sorted(lines, key=lambda line: line.ran)
        case Sorting.name:
            return sorted(lines, key=lambda line: line.name)
    return lines


def _line(report: Report, name: str, node: ExplainedNode) -> _Line:
    time = report.times.get(name)
    if time is None:
        return _Line(name, node, 0.0, 0.0, node.work, node.outputs)
    return _Line(name, node, time.device_us, time.host_us, time.kernel or node.work,
                 time.shapes or node.outputs)


def _row(report: Report, line: _Line) -> tuple[str, ...]:
    peak = report.times[line.name].of_peak if line.name in report.times else None
    times = (f"{line.device_us:.1f}", f"{line.device_us / (report.total_us or 1.0):.1%}",
             "-" if peak is None else f"{peak:.0%}") if report.times else ()
    return (line.name, line.node.type, line.ran, *times, " ".join(line.shapes))


def _print_reasons(report: Report) -> None:
    nodes = tuple(node for _, node in all_nodes(report.explanation))
    print_table("kernels", ("primitive", "kernel", "estimate", "measured", "layout"), [
        (name, kernel.name, show_time(kernel.cost), "-" if kernel.measured is None else show_time(kernel.measured),
         " ".join(node.outputs))
        for name, node in all_nodes(report.explanation) for kernel in node.kernels])
    print_table("kernels passed over", ("kernel", "reason", "how often", "primitives"),
                _passed_over(nodes))
    print_table("not fused", ("reason", "how often", "primitives"), _not_fused(nodes))
    gone = [layer for layer in report.layers if layer.fate != "kept"]
    print_table("fused, folded and removed layers", ("layer", "type", "fate", "into", "by"),
                [(g.layer, g.type, g.fate, g.into or "-", g.by) for g in gone])


def summary(report: Report) -> list[tuple[str, str]]:
    """(what, value) of the whole program."""
    kinds = Counter(node.kind for node in report.explanation.nodes)
    fates = Counter(layer.fate for layer in report.layers)
    rows = [("layers of the model", _counts(fates)), ("primitives", _counts(kinds)),
            ("segments", str(1 + max((node.segment for node in report.explanation.nodes), default=0))),
            ("compiled in", f"{report.compile_s:.2f} s"), *_built(report)]
    if report.runs:
        first = report.runs[0].first
        rows.append(("first inference", f"{first.ms:.2f} ms, {first.plans_made} plans made, device memory grown by "
                                        f"{first.grown_bytes / 2**20:.2f} MiB"))
        shapes = " ".join(f"{name}{shape}" for name, shape in report.inputs.items())
        rows.append(("device time", f"{report.total_us / 1e3:.3f} ms" + (f" for {shapes}" if shapes else "")))
    else:
        rows.append(("device time", "not measured: " + report.untimed.splitlines()[0]))
    return rows


def _built(report: Report) -> list[tuple[str, str]]:
    """How many implementations are built ahead of all inferences, what for, and how long that took."""
    kernels = [kernel for _, node in all_nodes(report.explanation) for kernel in node.kernels]
    explained = report.explanation
    built = f", in {show_time(explained.build_s * 1e9)} of the compiler's time" if explained.built else ""
    return [("implementations", _counts(Counter(f"for {kernel.built_for}" for kernel in kernels))),
            ("their kernels", f"{explained.functions}, of which {explained.built} were built now{built}")]


def _build_time(kernel: ExplainedKernel) -> str:
    return "" if kernel.build_s is None else f", in {show_time(kernel.build_s * 1e9)}"


def _counts(counter: Counter[Any]) -> str:
    parts = ", ".join(f"{count} {name}" for name, count in counter.most_common())
    return f"{counter.total()}: {parts}" if parts else "none"


def _passed_over(nodes: tuple[ExplainedNode, ...]) -> list[tuple[str, ...]]:
    """(kernel, reason, how often, some primitives), the most frequent first."""
    found: dict[tuple[str, str], list[str]] = {}
    for node in nodes:
        for entry in node.rejected:
            found.setdefault(entry, []).append(node.primitive)
    ordered = sorted(found.items(), key=lambda item: -len(item[1]))
    return [(kernel, reason, str(len(ids)), _some(ids)) for (kernel, reason), ids in ordered]


def _not_fused(nodes: tuple[ExplainedNode, ...]) -> list[tuple[str, ...]]:
    """(why primitives were not fused with what they read, how often, some of them), the most frequent first."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        for reason in dict.fromkeys(reason for _, reason in node.unfused):
            found.setdefault(reason, []).append(node.primitive)
    ordered = sorted(found.items(), key=lambda item: -len(item[1]))
    return [(reason, str(len(ids)), _some(ids)) for reason, ids in ordered]


def _some(names: list[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _print_layer(report: Report, name: str) -> None:
    fates = [layer for layer in report.layers if layer.layer == name]
    ids = {name, *(fate.into for fate in fates)}
    nodes = [node for node in report.explanation.nodes if node.primitive in ids or node.layer == name]
    if not fates and not nodes:
        raise UsageError("the model has no such layer or primitive", values={"given": name},
                         hint="`clinfer explain MODEL --all` lists them")
    if fates:
        print_table("layer", ("layer", "type", "fate", "into", "by"),
                    [(f.layer, f.type, f.fate, f.into or "-", f.by or "-") for f in fates])
    for node in nodes:
        print_table(node.primitive, ("what", "value"), _details(report, node))


def _details(report: Report, node: ExplainedNode) -> list[tuple[str, str]]:
    joined = [f"{layer.layer} ({layer.type})" for layer in report.layers
              if layer.into == node.primitive and layer.fate == "fused"]
    time = report.times.get(time_key(node))
    rows = [("primitive", node.primitive), ("type", node.type), ("carried out as", node.work)]
    rows += [("implementation type", node.implementation_type)] if node.implementation_type else []
    rows += [("chosen for", node.why)] if node.why else []
    rows += [("stands in", f"{kernel.name} ({show_time(kernel.cost)}) for the shapes that it is the fastest for")
             for kernel in node.kernels[1:]]
    rows += [("built", f"{kernel.name} for {kernel.built_for}{_build_time(kernel)}") for kernel in node.kernels]
    rows += [("passed over", f"{kernel}: {reason}") for kernel, reason in node.rejected]
    rows += [("not of type", f"{name}: {reason}") for name, reason in node.refused_types]
    rows += [("not fused", f"with {primitive}: {reason}") for primitive, reason in node.unfused]
    rows += [("ran", f"{time.kernel} for {' '.join(time.shapes) or 'nothing'}"),
             ("device time", f"{time.device_us:.1f} us, on the host {time.host_us:.1f} us")] if time else []
    rows += [("weights", time.weights)] if time and time.weights else []
    rows += [("reached", " and ".join(f"{rate:.3g} {unit}" for rate, unit in (
        (time.gflops, "GFLOP/s"), (time.gbytes, "GB/s")) if rate))] if time and time.gbytes else []
    rows += [("estimated", show_time(time.estimated_us * 1e3)),
             ("least time on the device", f"{show_time(time.roofline_us * 1e3)} ({time.of_peak:.0%} of peak)")
             ] if time and time.of_peak is not None else []
    rows += [("input", f"{i.primitive}{f':{i.output}' * bool(i.output)} {i.layout}{' constant' * i.is_constant}")
             for i in node.inputs]
    rows += [("output", layout) for layout in node.outputs]
    rows += [("attribute", f"{key} = {value}") for key, value in node.attributes]
    rows += [("fused into it", ", ".join(joined))] if joined else []
    return rows
