"""`clinfer explain`: what each layer of a model became, by which kernel it is computed and why, and its time."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

import numpy as np

from clinfer.api.compiled_model import CompiledModel
from clinfer.base.errors import ClinferError
from clinfer.cli.fates import LayerFate, find_fates
from clinfer.cli.inputs import InputOrder, make_inputs
from clinfer.cli.session import ModelOrder, Session, Subject
from clinfer.cli.timed_run import NodeTime, TimedRun, time_run
from clinfer.frontend.layers import trace_layers
from clinfer.frontend.states import separate_states
from clinfer.frontend.transformations import prepare
from clinfer.network.reports.timeline import Timeline
from clinfer.program.explanation import ExplainedNode, Explanation
from clinfer.runtime.ceilings import Ceilings


@dataclass(frozen=True)
class Report:
    """The explanation of a compiled model. `runs`: with the first shapes and, where others were asked for, with those;
    empty if nothing was timed, and `untimed` then says why."""

    subject: Subject
    compile_s: float
    explanation: Explanation
    layers: tuple[LayerFate, ...]
    ceilings: Ceilings
    runs: tuple[TimedRun, ...]
    untimed: str

    @property
    def inputs(self) -> dict[str, str]:
        """The shapes of the first run."""
        return self.runs[0].inputs if self.runs else {}

    @property
    def times(self) -> dict[str, NodeTime]:
        """The times of the first run, by primitive."""
        return self.runs[0].times if self.runs else {}

    @property
    def timeline(self) -> Timeline:
        """The course of the last inference of the first run."""
        return self.runs[0].timeline if self.runs else Timeline()

    @property
    def total_us(self) -> float:
        """Device time of all primitives in the first run."""
        return self.runs[0].total_us if self.runs else 0.0


def explain_model(order: ModelOrder, inputs: InputOrder, timed: bool, then: tuple[str, ...] = ()) -> Report:
    """Compile a model and explain it; `timed`: run it with these inputs too. `then`: shapes, written as those of
    `inputs`, with which it is run after that."""
    session = Session(order)
    orders = (inputs, replace(inputs, shapes=then)) if then else (inputs,)
    arrays = [make_inputs(session.ports, each) for each in orders] if timed else []
    compiled, compile_s = session.compile(**({"PERF_COUNT": True} if timed else {}))
    explanation = compiled.program.explain()
    subject = session.subject(compiled)
    prepared = prepare(separate_states(session.model).model, subject.precision)
    layers = find_fates(trace_layers(session.model, prepared), explanation)
    runs, untimed = _measure(compiled, arrays) if timed else ((), "not asked for")
    return Report(subject, compile_s, explanation, layers, compiled.engine.capabilities.ceilings, runs, untimed)


def _measure(compiled: CompiledModel, arrays: list[list[np.ndarray]]) -> tuple[tuple[TimedRun, ...], str]:
    """A run for each set of inputs; without any, why."""
    request = compiled.create_infer_request()
    try:
        return tuple(time_run(compiled, request, each) for each in arrays), ""
    except ClinferError as error:
        return (), str(error)


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
            "build_s": explanation["build_s"], "device_us": report.total_us, "ceilings": asdict(report.ceilings),
            "first_inference": asdict(report.runs[0].first) if report.runs else None, "nodes": nodes,
            "times": _all_times(report), "outputs": explanation["outputs"], "removed": explanation["removed"],
            "layers": [asdict(layer) for layer in report.layers]}


def _all_times(report: Report) -> dict[str, object]:
    """Every primitive's time by its key, those of bodies included."""
    types = {key: node.type for key, node in all_nodes(report.explanation)}
    return {key: {"type": types[key], "kernel": time.kernel, "device_us": time.device_us, "shapes": time.shapes}
            for key, time in report.times.items() if key in types}


def _time_data(report: Report, key: str) -> dict[str, object]:
    time = report.times.get(key)
    if time is None:
        return {**dict.fromkeys(("device_us", "host_us", "estimated_us", "roofline_us", "of_peak", "gflops", "gbytes",
                                 "ran")),
                "ran_shapes": (), "weights": ""}
    return {"device_us": time.device_us, "host_us": time.host_us, "estimated_us": time.estimated_us,
            "roofline_us": time.roofline_us, "of_peak": time.of_peak, "gflops": time.gflops,
            "gbytes": time.gbytes, "ran": time.kernel, "ran_shapes": time.shapes,
            "weights": time.weights}
