"""`clinfer tune`: times the kernels of a model's heavy primitives, or of one operation, and keeps the times."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from clinfer.api.core import natural_precision
from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.files import write_whole
from clinfer.base.shape import StaticShape
from clinfer.cli.inputs import read_shapes
from clinfer.cli.session import ModelOrder, Session
from clinfer.cli.table import print_json, print_line, print_table
from clinfer.cli.usage import UsageError, told_as_usage
from clinfer.cli.waiting import waiting
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.frontend.states import read_source
from clinfer.kernels.contract import Problem
from clinfer.kernels.cost import show_time
from clinfer.kernels.kernel_cache import kernel_cache_of
from clinfer.kernels.tuned import subject_of
from clinfer.kernels.tuner import Tuned, is_tuned, tune
from clinfer.network.compile import problems_to_tune
from clinfer.ops import all_operations, kernels_of
from clinfer.runtime.device import find_device
from clinfer.runtime.engine import Engine
from clinfer.runtime.helper import Helper, HelperFailure
from clinfer.tuning.database import database_of
from clinfer.tuning.entry import bucket_of
from clinfer.tuning.table import write_table

if TYPE_CHECKING:
    from clinfer.frontend.openvino_import import openvino as ov

_MOST_PROBLEMS = 10_000


@dataclass(frozen=True)
class TuneOrder:
    """What to tune: a `model` with `shapes` of its inputs, or the operation `kernel` with `sizes` (name=1,64,512) of a
    `type`. `force`: also what was timed before. `export`: where the device's table goes."""

    device: str
    model: ModelOrder | None = None
    shapes: tuple[str, ...] = ()
    kernel: str = ""
    sizes: tuple[str, ...] = ()
    type: str = "f32"
    force: bool = False
    export: Path | None = None


@dataclass(frozen=True)
class TunedProblem:
    """A problem, and what became of it: what was found, or why nothing was."""

    primitive: str
    traits: str
    sizes: dict[str, int]
    found: Tuned | None
    failure: str = ""


@dataclass(frozen=True)
class TuneReport:
    """`known`: how many problems were timed before."""

    device: str
    problems: tuple[TunedProblem, ...]
    known: int
    exported: int | None


def run_tune(order: TuneOrder) -> TuneReport:
    """Tune. What was timed is kept at once: an interrupt loses one problem at most. Errors: UsageError,
    ClinferError."""
    if order.model is None and not order.kernel and order.export is None:
        raise UsageError("there is nothing to tune", hint="name a model, --kernel or --export")
    if order.sizes and not order.kernel:
        raise UsageError("--sizes belong to --kernel", values={"--sizes": " ".join(order.sizes)})
    device = find_device(order.device)
    if order.model is None and not order.kernel:
        engine, problems = Engine(device), []
    elif order.model is None:
        engine = Engine(device)
        problems = list(_of_operation(order, engine))
    else:
        session = Session(order.model)
        shapes = read_shapes(session.ports, order.shapes)
        engine = Engine(device)
        with waiting("looking for what takes time"):
            problems = _of_model(session.model, shapes, engine, order.model.precision)
    distinct = list(_distinct(problems).values())
    waiting_for = [each for each in distinct if order.force or not is_tuned(
        kernels_of(each[1].primitive), each[1], kernel_cache_of(engine))]
    done = _tune_all(engine, waiting_for)
    exported = None if order.export is None else _export(engine, order.export)
    return TuneReport(str(device), tuple(done), len(distinct) - len(waiting_for), exported)


def print_tune(report: TuneReport, as_json: bool) -> None:
    """Print what was chosen for each problem before and what is the fastest now."""
    if as_json:
        print_json(asdict(report))
        return
    rows = []
    for each in report.problems:
        sizes = " ".join(f"{name}={size}" for name, size in each.sizes.items())
        if each.found is None or not each.found.times:
            why = each.failure or "; ".join(each.found.errors if each.found else ()) or "nothing could be timed"
            rows.append((each.primitive, sizes, "-", "-", why))
            continue
        best, least = each.found.times[0]
        before = dict(each.found.times).get(each.found.chosen)
        rows.append((each.primitive, sizes, f"{each.found.chosen} {'-' if before is None else show_time(before)}",
                     f"{best} {show_time(least)}", "-" if before is None else f"{before / least:.2f}"))
    if rows:
        print_table("tuned", ("primitive", "sizes", "chosen before", "fastest", "times faster"), rows)
    failed = sum(each.found is None or not each.found.times for each in report.problems)
    print_line(f"{len(report.problems) - failed} problems timed on {report.device}, {report.known} timed before"
               + (f", {failed} failed" if failed else ""))
    for error in dict.fromkeys(text for each in report.problems if each.found for text in each.found.errors):
        print_line(f"not used: {error.splitlines()[0]}")
    if report.exported is not None:
        print_line(f"{report.exported} times exported")


def _of_model(model: ov.Model, shapes: dict[int, StaticShape], engine: Engine,
              precision: str) -> list[tuple[str, Problem]]:
    if shapes:
        model = model.clone()
        with told_as_usage("give shapes that the model takes together"):
            model.reshape({index: list(shape) for index, shape in shapes.items()})
    topology = read_source(model, precision or natural_precision(engine)).topology
    return problems_to_tune(engine, topology, OpenVinoShapeInference())


def _of_operation(order: TuneOrder, engine: Engine) -> Iterator[tuple[str, Problem]]:
    ops = {op.name: op for op in all_operations() if op.sample is not None}
    op = ops.get(order.kernel)
    if op is None or op.sample is None:
        raise UsageError("this operation cannot be tuned without a model", values={"--kernel": order.kernel},
                         hint=f"one of {', '.join(ops)}")
    given = dict(_sizes(entry) for entry in order.sizes)
    unknown = sorted(set(given) - set(op.sample_sizes))
    if unknown:
        raise UsageError("the operation has no such size", values={"--sizes": ", ".join(unknown)},
                         hint=f"it has {', '.join(op.sample_sizes)}")
    with told_as_usage():
        kind = ElementType.of(order.type)
    values = {name: given.get(name, (usual,)) for name, usual in op.sample_sizes.items()}
    for numbers in itertools.islice(itertools.product(*values.values()), _MOST_PROBLEMS):
        yield order.kernel, op.sample(dict(zip(values, numbers, strict=True)), kind, engine.capabilities)


def _sizes(entry: str) -> tuple[str, tuple[int, ...]]:
    name, _, text = entry.partition("=")
    parts = text.split(",")
    if not name or not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise UsageError("a size is written as name=64 or name=1,64,512", values={"--sizes": entry})
    return name, tuple(map(int, parts))


def _distinct(problems: Sequence[tuple[str, Problem]]) -> dict[object, tuple[str, Problem]]:
    """One of all problems that share a bucket; another layout of the same is another one."""
    found: dict[object, tuple[str, Problem]] = {}
    for name, problem in problems:
        key = subject_of(problem), bucket_of(problem.sizes), tuple(x.format for x in problem.inputs)
        found.setdefault(key, (name, problem))
    return found


def _tune_all(engine: Engine, problems: Sequence[tuple[str, Problem]]) -> list[TunedProblem]:
    done: list[TunedProblem] = []
    helper: Helper | None = None
    try:
        with _progress(len(problems)) as tick:
            for name, problem in problems:
                helper = helper or Helper(engine.device)
                found, failure = None, ""
                try:
                    found = tune(kernels_of(problem.primitive), problem, kernel_cache_of(engine), helper,
                                 engine.device.driver_version)
                except HelperFailure as error:
                    failure = str(error).splitlines()[0]
                    helper.close()
                    helper = None
                except ClinferError as error:
                    failure = error.what
                done.append(TunedProblem(name, subject_of(problem).traits, dict(problem.sizes), found, failure))
                tick(name)
    finally:
        if helper is not None:
            helper.close()
    return done


@contextmanager
def _progress(total: int) -> Iterator[Callable[[str], None]]:
    """A bar on standard error while it is a terminal; what is yielded is called after each problem."""
    console = Console(stderr=True)
    if not console.is_terminal or not total:
        yield lambda name: None
        return
    columns = (TextColumn("tuning"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
               TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True, refresh_per_second=4) as bar:
        task = bar.add_task("", total=total)

        def tick(name: str) -> None:
            bar.update(task, advance=1, description=name)
        yield tick


def _export(engine: Engine, path: Path) -> int:
    table = database_of(engine.capabilities.hardware).exported()
    try:
        write_whole(path, [write_table(table)])
    except OSError as error:
        raise ClinferError("the table cannot be written", values={"file": path, "reason": error}) from None
    return len(table.entries)
