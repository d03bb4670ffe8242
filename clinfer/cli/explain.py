"""`clinfer explain`: what each layer of a model became, by which kernel it is computed and why, and its time."""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.ports import port_name
from clinfer.base.errors import ClinferError
from clinfer.base.shape import show
from clinfer.cli.fates import LayerFate, find_fates
from clinfer.cli.inputs import InputOrder, make_inputs
from clinfer.cli.session import ModelOrder, Session, Subject
from clinfer.cli.table import print_json, print_line, print_table
from clinfer.cli.usage import UsageError
from clinfer.frontend.layers import trace_layers
from clinfer.frontend.transformations import prepare
from clinfer.network.profiling import NodeProfile
from clinfer.program.explanation import ExplainedNode, Explanation

_TIMED_RUNS = 3
_NAMES_SHOWN = 3


@dataclass(frozen=True)
class NodeTime:
    """Microseconds of one primitive on the device and on the host, the least of several inferences; the kernel
    that ran, and the shapes of the outputs (empty where it did not run)."""

    device_us: float
    host_us: float
    kernel: str
    shapes: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """The explanation of a compiled model. `times` by primitive, those of bodies as `<primitive>/body<n>/<id>`;
    empty if nothing was timed, and `untimed` then says why. `inputs`: the shapes that were timed."""

    subject: Subject
    compile_s: float
    explanation: Explanation
    layers: tuple[LayerFate, ...]
    inputs: dict[str, str]
    times: dict[str, NodeTime]
    untimed: str

    @property
    def total_us(self) -> float:
        """Device time of all primitives."""
        return sum(time.device_us for time in self.times.values())


def explain_model(order: ModelOrder, inputs: InputOrder, timed: bool) -> Report:
    """Compile a model and explain it; `timed`: run it with these inputs too."""
    session = Session(order)
    arrays = make_inputs(session.ports, inputs) if timed else []
    compiled, compile_s = session.compile(**({"PERF_COUNT": True} if timed else {}))
    explanation = compiled.program.explain()
    subject = session.subject(compiled)
    layers = find_fates(trace_layers(session.model, prepare(session.model, subject.precision)), explanation)
    shapes = {port_name(port): show(array.shape) for port, array in zip(session.ports.inputs, arrays, strict=False)}
    times, untimed = _measure(compiled, arrays) if timed else ({}, "not asked for")
    return Report(subject, compile_s, explanation, layers, shapes, times, untimed)


def _measure(compiled: CompiledModel, arrays: list[np.ndarray]) -> tuple[dict[str, NodeTime], str]:
    """The least time of each primitive; without times, why."""
    request = compiled.create_infer_request()
    runs: list[tuple[NodeProfile, ...]] = []
    try:
        for _ in range(_TIMED_RUNS + 1):
            request.infer(arrays)
            runs.append(compiled.profile)
    except ClinferError as error:
        return {}, str(error)
    return {rows[0].name: _node_time(rows) for rows in zip(*runs[1:], strict=True)}, ""


def _node_time(rows: tuple[NodeProfile, ...]) -> NodeTime:
    return NodeTime(min(row.device_ns for row in rows) / 1e3, min(row.host_ns for row in rows) / 1e3,
                    rows[-1].kernel, tuple(show(shape) for shape in rows[-1].shapes))


def time_key(node: ExplainedNode, inside: str = "") -> str:
    """The key of a node in `Report.times`; `inside`: `<key>/body<n>/` of the body in which it stands."""
    return inside + (node.layer or node.primitive if node.kind == "input" else node.primitive)


# -- JSON -------------------------------------------------------------------------------------------


def as_data(report: Report) -> dict[str, object]:
    """The report as JSON-ready data: one entry per primitive, with its times."""
    explanation = asdict(report.explanation)
    nodes = [{**row, **_time_data(report, time_key(node))}
             for row, node in zip(explanation["nodes"], report.explanation.nodes, strict=True)]
    return {**asdict(report.subject), "compile_s": report.compile_s, "inputs": report.inputs,
            "untimed": report.untimed, "device_us": report.total_us, "nodes": nodes,
            "outputs": explanation["outputs"], "removed": explanation["removed"],
            "layers": [asdict(layer) for layer in report.layers]}


def _time_data(report: Report, key: str) -> dict[str, object]:
    time = report.times.get(key)
    return {"device_us": time.device_us if time else None, "host_us": time.host_us if time else None,
            "ran": time.kernel if time else None, "ran_shapes": time.shapes if time else ()}


# -- text -------------------------------------------------------------------------------------------


def print_report(report: Report, as_json: bool, layer: str = "") -> None:
    """Print the report as tables or as JSON; `layer`: only what became of that layer or primitive."""
    if as_json:
        print_json(as_data(report))
    elif layer:
        _print_layer(report, layer)
    else:
        _print_all(report)


def _print_all(report: Report) -> None:
    print_line(str(report.subject))
    print_table("summary", ("what", "value"), summary(report))
    timed = bool(report.times)
    columns = ("primitive", "type", "kernel", "score", *(("device us", "share") if timed else ()), "output")
    print_table("primitives", columns, [_row(report, node) for node in report.explanation.nodes])
    print_table("kernels passed over", ("kernel", "reason", "how often", "primitives"),
                _passed_over(report.explanation.nodes))
    print_table("not fused", ("reason", "how often", "primitives"), _not_fused(report.explanation.nodes))
    gone = [layer for layer in report.layers if layer.fate != "kept"]
    print_table("fused, folded and removed layers", ("layer", "type", "fate", "into", "by"),
                [(g.layer, g.type, g.fate, g.into or "-", g.by) for g in gone])


def summary(report: Report) -> list[tuple[str, str]]:
    """(what, value) of the whole program."""
    kinds = Counter(node.kind for node in report.explanation.nodes)
    fates = Counter(layer.fate for layer in report.layers)
    rows = [("layers of the model", f"{len(report.layers)}: " + _counts(fates)),
            ("primitives", f"{len(report.explanation.nodes)}: " + _counts(kinds)),
            ("segments", str(1 + max((node.segment for node in report.explanation.nodes), default=0))),
            ("compiled in", f"{report.compile_s:.2f} s")]
    if not report.untimed:
        rows.append(("device time", f"{report.total_us / 1e3:.3f} ms for "
                     + " ".join(f"{name}{shape}" for name, shape in report.inputs.items())))
    else:
        rows.append(("device time", "not measured: " + report.untimed.splitlines()[0]))
    return rows


def _counts(counter: Mapping[Any, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counter.items(), key=lambda entry: -entry[1]))


def _row(report: Report, node: ExplainedNode) -> tuple[str, ...]:
    score = f"{node.kernels[0].score:g}" if node.kernels else "-"
    times: tuple[str, ...] = ()
    if report.times:
        time = report.times.get(time_key(node))
        us = time.device_us if time else 0.0
        times = (f"{us:.1f}", f"{us / (report.total_us or 1.0):.1%}")
    return (node.primitive, node.type, node.work, score, *times, " ".join(node.outputs))


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
                         hint="`clinfer explain MODEL` lists them")
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
    rows += [("stands in", f"{kernel.name} (score {kernel.score:g}) when those before refuse the actual shapes")
             for kernel in node.kernels[1:]]
    rows += [("passed over", f"{kernel}: {reason}") for kernel, reason in node.rejected]
    rows += [("not of type", f"{name}: {reason}") for name, reason in node.refused_types]
    rows += [("not fused", f"with {primitive}: {reason}") for primitive, reason in node.unfused]
    rows += [("ran", f"{time.kernel} for {' '.join(time.shapes) or 'nothing'}"),
             ("device time", f"{time.device_us:.1f} us, on the host {time.host_us:.1f} us")] if time else []
    rows += [("input", f"{i.primitive}{f':{i.output}' * bool(i.output)} {i.layout}{' constant' * i.is_constant}")
             for i in node.inputs]
    rows += [("output", layout) for layout in node.outputs]
    rows += [("attribute", f"{key} = {value}") for key, value in node.attributes]
    rows += [("fused into it", ", ".join(joined))] if joined else []
    return rows
