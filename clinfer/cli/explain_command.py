"""`clinfer explain`: its options, and what they ask for."""
from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clinfer.cli.choices import Sorting
from clinfer.cli.options import Device, Inputs, Json, Model, Precisions, Seed, Shapes, path_of, text_of
from clinfer.cli.usage import UsageError

if TYPE_CHECKING:
    from clinfer.cli.comparison import Side
    from clinfer.cli.inputs import InputOrder
    from clinfer.cli.session import ModelOrder


def explain_command(
    model: Model,
    device: Device = "AUTO",
    input: Inputs = None,
    shape: Shapes = None,
    then: Annotated[list[str] | None, typer.Option(
        help="[NAME=][1,3,48,640], a second shape, run after the first and compared with it.")] = None,
    precision: Precisions = None,
    seed: Seed = 0,
    time: Annotated[bool, typer.Option(help="Run the model and show each primitive's time.")] = True,
    top: Annotated[int, typer.Option(help="How many primitives are listed.", min=1)] = 10,
    sort: Annotated[Sorting | None, typer.Option(
        help="Which primitives come first. Without it the costliest; with --all the first to run.")] = None,
    everything: Annotated[bool, typer.Option(
        "--all", help="List all primitives, and the reasons for kernels, fusions and layers too.")] = False,
    layer: Annotated[str, typer.Option(help="Only what became of this layer or primitive, in full.")] = "",
    memory: Annotated[bool, typer.Option(
        "--memory", help="Run the model and show what lies where in device memory, and when, instead.")] = False,
    shapes: Annotated[bool, typer.Option(
        "--shapes", help="Run the model and show which sizes decide what, and what was planned by itself, instead."
    )] = False,
    against: Annotated[Path | None, typer.Option(
        parser=path_of, metavar="MODEL|FILE.json", help="Compare with another model, or with what --json told before."
    )] = None,
    html: Annotated[Path | None, typer.Option(
        parser=path_of, metavar="FILE", help="Write one page with the graph, its times and reasons.")] = None,
    trace: Annotated[Path | None, typer.Option(
        parser=path_of, metavar="FILE.json",
        help="Write the course of the last inference, for ui.perfetto.dev.")] = None,
    json: Json = False,
) -> None:
    """Tell what each layer of a model became: primitive, kernel and why, layout; fused, folded or removed."""
    from clinfer.cli.inputs import InputOrder
    from clinfer.cli.session import ModelOrder

    asked = [name for name, value in (("--then", then), ("--against", against), ("--trace", trace)) if value]
    if not time and (asked or sort in (Sorting.time, Sorting.host)):
        raise UsageError("times that are not measured sort, show and compare nothing",
                         values={"asked for": ", ".join(asked) or f"--sort {sort.value if sort else ''}"},
                         hint="leave out --no-time")
    alone = "--shapes" if shapes else "--memory" if memory else ""
    beside = [*asked, *(["--memory"] if memory else []), *(["--html"] if html else [])] if shapes else asked
    if alone and beside:
        raise UsageError(f"{alone} stands alone", values={"with": ", ".join(beside)},
                         hint="run the command once for each")
    _check_targets(html, trace)
    order, inputs = (ModelOrder(model, device, text_of(precision)),
                     InputOrder(tuple(input or ()), tuple(shape or ()), seed))
    if shapes:
        _tell_shapes(order, inputs, json)
    elif memory:
        _tell_memory(order, inputs, html, json)
    else:
        sorting = sort or (Sorting.order if everything else Sorting.time)
        wanted = _Wanted(html, trace, json, None if everything else top, sorting, layer)
        _tell_all(order, inputs, _Runs(time, tuple(then or ()), against), wanted)


@dataclass(frozen=True)
class _Runs:
    """Whether anything is run; with which second shapes; and what it is compared with."""

    timed: bool
    then: tuple[str, ...]
    against: Path | None


@dataclass(frozen=True)
class _Wanted:
    """What is written and printed."""

    html: Path | None
    trace: Path | None
    json: bool
    top: int | None
    sorting: Sorting
    layer: str


def _check_targets(*targets: Path | None) -> None:
    from clinfer.cli.targets import check_target

    for target in targets:
        if target is not None:
            check_target(target, is_folder=False)


def _tell_shapes(order: ModelOrder, inputs: InputOrder, as_json: bool) -> None:
    from clinfer.cli.explain_shapes import explain_shapes, print_shapes

    print_shapes(explain_shapes(order, inputs), as_json)


def _tell_memory(order: ModelOrder, inputs: InputOrder, html: Path | None, as_json: bool) -> None:
    from clinfer.cli.explain_memory import explain_memory, print_memory
    from clinfer.cli.memory_page import write_memory_page

    report = explain_memory(order, inputs)
    if html is not None:
        write_memory_page(report, html)
        _tell_written(html)
    if html is None or as_json:
        print_memory(report, as_json)


def _tell_all(order: ModelOrder, inputs: InputOrder, runs: _Runs, wanted: _Wanted) -> None:
    from clinfer.cli.comparison import compare, compare_shapes, side_of
    from clinfer.cli.explain import explain_model
    from clinfer.cli.explain_page import write_page
    from clinfer.cli.explain_tables import Selection, print_report
    from clinfer.cli.trace_file import write_trace

    other = _other_side(order, inputs, runs.against)
    report = explain_model(order, inputs, runs.timed, runs.then)
    by_shape = compare_shapes(report)
    comparisons = [] if by_shape is None else [by_shape]
    if other is not None:
        comparisons.append(compare(side_of(report), other))
    if wanted.trace is not None:
        write_trace(report, wanted.trace)
        _tell_written(wanted.trace)
    if wanted.html is not None:
        write_page(report, wanted.html, comparisons)
        _tell_written(wanted.html)
    if (wanted.html is None and wanted.trace is None) or wanted.json or wanted.layer:
        print_report(report, wanted.json, Selection(wanted.top, wanted.sorting, wanted.layer), comparisons)


def _other_side(order: ModelOrder, inputs: InputOrder, against: Path | None) -> Side | None:
    """What is compared with: a report of before, or a model that is run now in the same way."""
    from clinfer.cli.comparison import side_of, side_of_file
    from clinfer.cli.explain import explain_model

    if against is None:
        return None
    if against.suffix == ".json":
        return side_of_file(against)
    return side_of(explain_model(replace(order, model=against), inputs, timed=True))


def _tell_written(target: Path) -> None:
    print(f"clinfer: wrote {target}", file=sys.stderr)
