"""`clinfer warm`: builds the kernels of models before they are used."""
from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from clinfer.api.core import Core
from clinfer.base import knobs
from clinfer.cli.foreign_output import quiet_unless_done
from clinfer.cli.session import ModelOrder
from clinfer.cli.table import print_json, print_line, print_table
from clinfer.cli.usage import UsageError
from clinfer.kernels import build_progress


@dataclass(frozen=True)
class WarmedModel:
    """A model, how many kernels were built for it, and the seconds that compiling it took."""

    model: str
    kernels: int
    seconds: float


@dataclass(frozen=True)
class WarmReport:
    """On which device, and where the kernels are."""

    device: str
    folder: str
    models: tuple[WarmedModel, ...]


def run_warm(orders: Sequence[ModelOrder]) -> WarmReport:
    """Compile models of one device one after the other. What is built is kept at once: an interrupt loses a few
    kernels. Errors: UsageError, ClinferError."""
    if not knobs.cache_enabled():
        raise UsageError("nothing would be kept", values={"CLINFER_CACHE": "0"}, hint="leave CLINFER_CACHE out")
    core = Core()
    device = core.engine(orders[0].device).device
    done = tuple(_warmed(core, order) for order in orders)
    return WarmReport(str(device), str(knobs.cache_dir()), done)


def print_warm(report: WarmReport, as_json: bool) -> None:
    """Print what was built for each model."""
    if as_json:
        print_json(asdict(report))
        return
    print_table("warmed", ("model", "kernels built", "seconds"),
                [(each.model, str(each.kernels), f"{each.seconds:.2f}") for each in report.models])
    print_line(f"kernels for {report.device} are in {report.folder}")


def _warmed(core: Core, order: ModelOrder) -> WarmedModel:
    built = 0
    settings = {"INFERENCE_PRECISION_HINT": order.precision} if order.precision else {}
    with quiet_unless_done():
        model = core.read_model(order.model)
    start = time.perf_counter()
    with _bar(order.model.name) as shown:

        def tell(done: int, wanted: int) -> None:
            nonlocal built
            built = done
            shown(done, wanted)

        core.compile_model(model, order.device, {**settings, "build_progress": tell})
    return WarmedModel(str(order.model), built, time.perf_counter() - start)


@contextmanager
def _bar(name: str) -> Iterator[build_progress.Progress]:
    """A bar on standard error while it is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield build_progress.untold
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, refresh_per_second=4) as bar:
        task = bar.add_task(name, total=None)
        yield lambda built, wanted: bar.update(task, completed=built, total=wanted)
