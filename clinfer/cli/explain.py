"""`clinfer explain`: what each layer of a model became, by which kernel it is computed and why, and its time."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.ports import port_name
from clinfer.base.errors import ClinferError
from clinfer.base.shape import show
from clinfer.cli.fates import LayerFate, find_fates
from clinfer.cli.inputs import InputOrder, make_inputs
from clinfer.cli.session import ModelOrder, Session, Subject
from clinfer.frontend.layers import trace_layers
from clinfer.frontend.states import separate_states
from clinfer.frontend.transformations import prepare
from clinfer.network.reports.profiling import NodeProfile
from clinfer.program.explanation import ExplainedNode, Explanation

_TIMED_RUNS = 3


@dataclass(frozen=True)
class NodeTime:
    """Microseconds of one primitive on the device and on the host, the least of several inferences; the kernel
    that ran, and the shapes of the outputs (empty where it did not run); what that kernel was estimated to take, and
    the least that any takes on the device (0 where nobody can tell); how it had its constant weights, if any."""

    device_us: float
    host_us: float
    kernel: str
    shapes: tuple[str, ...]
    estimated_us: float = 0.0
    roofline_us: float = 0.0
    weights: str = ""

    @property
    def of_peak(self) -> float | None:
        """The part of what the device could do that was reached; None: nobody can tell."""
        return self.roofline_us / self.device_us if self.roofline_us and self.device_us else None


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
    prepared = prepare(separate_states(session.model).model, subject.precision)
    layers = find_fates(trace_layers(session.model, prepared), explanation)
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
                    rows[-1].kernel, tuple(show(shape) for shape in rows[-1].shapes),
                    rows[-1].estimated_ns / 1e3, rows[-1].roofline_ns / 1e3, rows[-1].weights)


def time_key(node: ExplainedNode, inside: str = "") -> str:
    """The key of a node in `Report.times`; `inside`: `<key>/body<n>/` of the body in which it stands."""
    return inside + (node.layer or node.primitive if node.kind == "input" else node.primitive)


def all_nodes(explanation: Explanation, inside: str = "") -> Iterator[tuple[str, ExplainedNode]]:
    """Every node under its key in `Report.times`, those of bodies behind the one that runs them."""
    for node in explanation.nodes:
        key = time_key(node, inside)
        yield key, node
        for number, body in enumerate(node.bodies):
            yield from all_nodes(body, f"{key}/body{number}/")


# -- JSON -------------------------------------------------------------------------------------------


def as_data(report: Report) -> dict[str, object]:
    """The report as JSON-ready data: one entry per primitive, with its times."""
    explanation = asdict(report.explanation)
    nodes = [{**row, **_time_data(report, time_key(node))}
             for row, node in zip(explanation["nodes"], report.explanation.nodes, strict=True)]
    return {**asdict(report.subject), "compile_s": report.compile_s, "inputs": report.inputs,
            "untimed": report.untimed, "functions": explanation["functions"], "built": explanation["built"],
            "build_s": explanation["build_s"], "device_us": report.total_us, "nodes": nodes,
            "outputs": explanation["outputs"], "removed": explanation["removed"],
            "layers": [asdict(layer) for layer in report.layers]}


def _time_data(report: Report, key: str) -> dict[str, object]:
    time = report.times.get(key)
    if time is None:
        return {**dict.fromkeys(("device_us", "host_us", "estimated_us", "roofline_us", "of_peak", "ran")),
                "ran_shapes": (), "weights": ""}
    return {"device_us": time.device_us, "host_us": time.host_us, "estimated_us": time.estimated_us,
            "roofline_us": time.roofline_us, "of_peak": time.of_peak, "ran": time.kernel, "ran_shapes": time.shapes,
            "weights": time.weights}
