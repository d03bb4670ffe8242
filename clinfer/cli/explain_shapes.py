"""`clinfer explain --shapes`: which sizes decide what, and how many primitives an inference planned by themselves."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from clinfer.api.ports import port_name
from clinfer.base.shape import show
from clinfer.cli.inputs import InputOrder, make_inputs
from clinfer.cli.session import ModelOrder, Session, Subject
from clinfer.cli.table import print_json, print_line, print_table
from clinfer.network.reports.guards import GuardedNode, find_guards


@dataclass(frozen=True)
class ShapesReport:
    """What sizes decide of a compiled model. `planned_by_themselves`: the primitives (bodies included) for which no
    trace held in the first inference with inputs of these shapes, of `primitives` in all."""

    subject: Subject
    inputs: dict[str, str]
    primitives: int
    planned_by_themselves: tuple[str, ...]
    nodes: tuple[GuardedNode, ...]


def explain_shapes(order: ModelOrder, inputs: InputOrder) -> ShapesReport:
    """Compile a model, look at its traces, and run it once."""
    session = Session(order)
    arrays = make_inputs(session.ports, inputs)
    compiled, _ = session.compile(NUM_STREAMS=1)
    nodes = tuple(find_guards(compiled.program))
    request = compiled.create_infer_request()
    request.infer(arrays)
    ran = request.dynamic_record.nodes
    shapes = {port_name(port): show(array.shape) for port, array in zip(session.ports.inputs, arrays, strict=True)}
    return ShapesReport(session.subject(compiled), shapes, len(ran),
                        tuple(node.name for node in ran if node.shape == "inferred"), nodes)


def print_shapes(report: ShapesReport, as_json: bool) -> None:
    """Print the report as a table or as JSON."""
    if as_json:
        data = asdict(report)
        print_json({**data.pop("subject"), **data})
        return
    print_line(str(report.subject))
    if not report.nodes:
        print_line("no size of the model is open, so that sizes decide nothing")
        return
    inputs = " ".join(f"{name}{shape}" for name, shape in report.inputs.items())
    print_line(f"first inference with {inputs}: {len(report.planned_by_themselves)} of {report.primitives} primitives "
               f"planned by themselves{': ' if report.planned_by_themselves else ''}"
               f"{', '.join(report.planned_by_themselves)}")
    print_table("what sizes decide", ("primitive", "sizes", "a trace holds while"), list(_rows(report.nodes)))


def _rows(nodes: tuple[GuardedNode, ...]) -> Iterator[tuple[str, str, str]]:
    for node in nodes:
        name = f"{node.within}/{node.primitive}" if node.within else node.primitive
        sizes = ", ".join(node.sizes)
        if node.as_in:
            yield name, sizes, f"as {node.as_in}"
        elif not node.traces:
            yield name, sizes, "no trace: planned by itself for each shape"
        for number, conditions in enumerate(node.traces):
            holds = "; ".join(conditions) or "always"
            yield ("", "", holds) if number else (name, sizes, holds)
