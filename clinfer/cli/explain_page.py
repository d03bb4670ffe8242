"""The page of `clinfer explain --html`: one file with everything in it, which asks nothing of a network."""
from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from clinfer.cli.explain import Report, time_key
from clinfer.cli.explain_tables import summary
from clinfer.cli.graph_layout import draw_graph
from clinfer.cli.page_file import fill_page, write_file
from clinfer.kernels.cost import show_time
from clinfer.kernels.jitter import kernel_source
from clinfer.program.explanation import ExplainedNode, Explanation


def write_page(report: Report, target: Path) -> None:
    """Write the page of a report. Errors: ClinferError if the file cannot be written."""
    write_file(make_page(report), target)


def make_page(report: Report) -> str:
    """The text of the page."""
    title = f"{Path(report.subject.model).name} on {report.subject.device}"
    return fill_page("page.html", ("page.css",), "page.js", title, page_data(report))


def page_data(report: Report) -> dict[str, Any]:
    """What the page's script draws: graphs with coordinates (the first is the program, the others bodies)."""
    pages = _Pages(report)
    pages.add(report.explanation, Path(report.subject.model).name, "")
    times = [time.device_us for time in report.times.values()]
    return {**asdict(report.subject), "name": Path(report.subject.model).name,
            "chips": _chips(report), "summary": summary(report), "graphs": pages.graphs, "sources": pages.sources,
            "layers": [asdict(layer) for layer in report.layers],
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
        edges = list(dict.fromkeys((index[read.primitive], number) for number, node in enumerate(explanation.nodes)
                                   for read in node.inputs if read.primitive in index))
        drawing = draw_graph(len(explanation.nodes), edges)
        outputs = {primitive for _, primitive in explanation.outputs}
        graph: dict[str, Any] = {"name": name, "width": drawing.width, "height": drawing.height}
        self.graphs.append(graph)
        number = len(self.graphs) - 1
        graph["edges"] = [{"from": source, "to": target, "points": _rounded(points)}
                          for (source, target), points in zip(edges, drawing.edges, strict=True)]
        graph["nodes"] = [{**self._node(node, inside), "is_output": node.primitive in outputs, "x": round(x, 1),
                           "y": round(y, 1)} for node, (x, y) in zip(explanation.nodes, drawing.nodes, strict=True)]
        return number

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
                "bodies": bodies, "shape": " ".join(_short(layout) for layout in node.outputs),
                "kernels": [{"name": kernel.name, "cost": show_time(kernel.cost),
                             "sources": [self._source(*source) for source in kernel.sources]}
                            for kernel in node.kernels],
                "us": time.device_us if time else None, "host_us": time.host_us if time else None,
                "ran": time.kernel if time else "", "ran_shapes": time.shapes if time else ()}

    def _source(self, package: str, file: str) -> str:
        key = f"{package.removeprefix('clinfer.').replace('.', '/')}/{file}"
        if key not in self.sources:
            self.sources[key] = kernel_source(package, file)
        return key


def _title(node: ExplainedNode) -> str:
    """The type, with the mode of those that have one: `Eltwise, add`."""
    mode = dict(node.attributes).get("mode", "")
    return f"{node.type}, {mode}" if mode else node.type


def _short(layout: str) -> str:
    """A layout on a card: `f32 [1,64,56,56] b_fs_yx_fsv16`."""
    kind, fmt, shape = layout.split(":")[:3]
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
