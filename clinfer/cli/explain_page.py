"""The page of `clinfer explain --html`: one file with everything in it, which asks nothing of a network."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from clinfer.cli.comparison import Comparison, comparison_data
from clinfer.cli.explain import Report, time_key
from clinfer.cli.explain_tables import summary
from clinfer.cli.graph_layout import draw_graph
from clinfer.cli.page_file import fill_page, write_file
from clinfer.cli.timed_run import NodeTime
from clinfer.kernels.cost import show_time
from clinfer.kernels.jitter import kernel_source
from clinfer.program.explanation import ExplainedNode, Explanation

_SCRIPTS = ("base.js", "graph.js", "panel.js", "course.js", "roofline.js", "compared.js", "hands.js")


def write_page(report: Report, target: Path, comparisons: Sequence[Comparison] = ()) -> None:
    """Write the page of a report. Errors: ClinferError if the file cannot be written."""
    write_file(make_page(report, comparisons), target)


def make_page(report: Report, comparisons: Sequence[Comparison] = ()) -> str:
    """The text of the page."""
    title = f"{Path(report.subject.model).name} on {report.subject.device}"
    return fill_page("page.html", ("page.css", "views.css"), _SCRIPTS, title, page_data(report, comparisons))


def page_data(report: Report, comparisons: Sequence[Comparison] = ()) -> dict[str, Any]:
    """What the page's script draws: graphs with coordinates (the first is the program, the others bodies), the spans
    of the last inference in microseconds, the device's ceilings, comparisons."""
    pages = _Pages(report)
    pages.add(report.explanation, Path(report.subject.model).name, "")
    times = [time.device_us for time in report.times.values()]
    return {**asdict(report.subject), "name": Path(report.subject.model).name,
            "chips": _chips(report), "summary": summary(report), "graphs": pages.graphs, "sources": pages.sources,
            "layers": [asdict(layer) for layer in report.layers],
            "spans": [[span.lane, span.kind, span.what, span.start_ns / 1e3, span.end_ns / 1e3]
                      for span in report.timeline.spans],
            "ceilings": asdict(report.ceilings), "comparisons": [comparison_data(each) for each in comparisons],
            "total_us": report.total_us, "hottest_us": max(times, default=0.0)}


class _Pages:
    """Collects the graphs of a program and its bodies, and the kernel sources that they use."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self.graphs: list[dict[str, Any]] = []
        self.sources: dict[str, str] = {}

    def add(self, explanation: Explanation, name: str, inside: str) -> int:
        """Add a graph and those of its bodies; its index. `inside`: see `time_key`."""
        index = {node.primitive: i for i, node in enumerate(explanation.nodes)}
        reads: dict[tuple[int, int], list[int]] = {}
        for number, node in enumerate(explanation.nodes):
            for read in node.inputs:
                if read.primitive in index:
                    reads.setdefault((index[read.primitive], number), []).append(read.output)
        edges = list(reads)
        drawing = draw_graph(len(explanation.nodes), edges)
        outputs = {primitive for _, primitive in explanation.outputs}
        graph: dict[str, Any] = {"name": name, "width": drawing.width, "height": drawing.height}
        self.graphs.append(graph)
        number = len(self.graphs) - 1
        sizes = [self._sizes(node, inside) for node in explanation.nodes]
        graph["edges"] = [{"from": source, "to": target, "points": _rounded(points),
                           "sizes": " ".join(sizes[source][output] for output in dict.fromkeys(reads[source, target]))}
                          for (source, target), points in zip(edges, drawing.edges, strict=True)]
        graph["nodes"] = [{**self._node(node, inside), "is_output": node.primitive in outputs, "x": round(x, 1),
                           "y": round(y, 1)} for node, (x, y) in zip(explanation.nodes, drawing.nodes, strict=True)]
        return number

    def _sizes(self, node: ExplainedNode, inside: str) -> tuple[str, ...]:
        """The sizes of a node's outputs as they were in the inference, or as they are declared."""
        time = self._report.times.get(time_key(node, inside))
        declared = tuple(layout.split(":")[2] for layout in node.outputs)
        return time.shapes if time is not None and len(time.shapes) == len(declared) else declared

    def _node(self, node: ExplainedNode, inside: str) -> dict[str, Any]:
        key = time_key(node, inside)
        time = self._report.times.get(key)
        joined = [f"{layer.layer} ({layer.type}), {layer.fate}" for layer in self._report.layers
                  if layer.into == node.primitive] if not inside else []
        bodies = [self.add(body, f"{node.primitive}, body {n}", f"{key}/body{n}/")
                  for n, body in enumerate(node.bodies)]
        data = asdict(node)
        for unused in ("primitive", "bodies", "kernels"):
            del data[unused]
        return {**data, "id": node.primitive, "title": _title(node), "work": node.work, "joined": joined,
                "bodies": bodies, "shape": " ".join(map(_short, node.outputs, self._sizes(node, inside))),
                "kernels": [{"name": kernel.name, "cost": show_time(kernel.cost),
                             "sources": [self._source(*source) for source in kernel.sources]}
                            for kernel in node.kernels],
                "us": time.device_us if time else None, "host_us": time.host_us if time else None,
                "ran": time.kernel if time else "", "ran_shapes": time.shapes if time else (), **_rates(time)}

    def _source(self, package: str, file: str) -> str:
        key = f"{package.removeprefix('clinfer.').replace('.', '/')}/{file}"
        if key not in self.sources:
            self.sources[key] = kernel_source(package, file)
        return key


def _title(node: ExplainedNode) -> str:
    """The type, with the mode of those that have one: `Eltwise, add`."""
    mode = dict(node.attributes).get("mode", "")
    return f"{node.type}, {mode}" if mode else node.type


def _rates(time: NodeTime | None) -> dict[str, float | None]:
    """What a primitive did to the device's ceilings."""
    if time is None:
        return dict.fromkeys(("flops", "bytes", "gflops", "gbytes", "of_peak"))
    return {"flops": time.flops, "bytes": time.moved_bytes, "gflops": time.gflops, "gbytes": time.gbytes,
            "of_peak": time.of_peak}


def _short(layout: str, shape: str) -> str:
    """A layout with these sizes on a card: `f32 [1,64,56,56] b_fs_yx_fsv16`."""
    kind, fmt = layout.split(":")[:2]
    return f"{kind} {shape} {fmt}" if "_" in fmt else f"{kind} {shape}"


def _rounded(points: tuple[tuple[float, float], ...]) -> list[list[float]]:
    return [[round(x, 1), round(y, 1)] for x, y in points]


def _chips(report: Report) -> list[tuple[str, str]]:
    nodes = report.explanation.nodes
    device = sum(node.kind == "kernel" for node in nodes)
    gone = sum(layer.fate != "kept" for layer in report.layers)
    chips = [(str(len(report.layers)), "layers of the model"), (str(gone), "fused, folded or removed"),
             (str(len(nodes)), "primitives"), (str(device), "on the device")]
    if report.times:
        chips.append((f"{report.total_us / 1e3:.2f} ms", "device time, one inference"))
    return [*chips, (f"{report.compile_s:.2f} s", "to compile")]
