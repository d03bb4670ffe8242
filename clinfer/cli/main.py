"""`clinfer`: its commands, and how they end.

Exit status: 0 done; 1 the model could not be read, compiled or run (told on standard error); 2 what stands on
the command line cannot be meant: options, names, shapes, input files; 130 interrupted (Ctrl-C).
"""
from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from clinfer.base.errors import ClinferError
from clinfer.base.version import VERSION
from clinfer.cli.explain_command import explain_command
from clinfer.cli.options import Device, Inputs, Json, Model, Precisions, Seed, Shapes, path_of, text_of
from clinfer.cli.serve import seconds_of, serve_command
from clinfer.cli.usage import UsageError

_IS_DRAWN = bool(sys.stdout and sys.stdout.isatty() and sys.stderr and sys.stderr.isatty())
_OUTPUT_FAILURES = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False,
                  rich_markup_mode="rich" if _IS_DRAWN else None,
                  help="Runs models that OpenVINO reads on any OpenCL device.",
                  epilog="Exit status: 0 done, 1 the model could not be compiled or run, 2 wrong usage, "
                         "130 interrupted.")


def _show_version(wanted: bool) -> None:
    if wanted:
        print(VERSION)
        raise typer.Exit


@app.callback()
def _every_command(version: Annotated[bool, typer.Option("--version", is_eager=True, callback=_show_version,
                                                         help="Print the version.")] = False) -> None:
    """Runs models that OpenVINO reads on any OpenCL device."""


@app.command()
def devices(json: Json = False) -> None:
    """List the OpenCL devices."""
    from clinfer.cli.devices import print_devices

    print_devices(as_json=json)


@app.command()
def run(
    model: Model,
    device: Device = "AUTO",
    input: Inputs = None,
    shape: Shapes = None,
    precision: Precisions = None,
    seed: Seed = 0,
    output: Annotated[Path | None, typer.Option(
        parser=path_of, metavar="PATH", help="Receives the outputs: a folder of .npy files, or one .npz file.")] = None,
    json: Json = False,
) -> None:
    """Compile a model and run it: its inputs, outputs and times."""
    from clinfer.cli.inputs import InputOrder
    from clinfer.cli.run import print_run, run_model
    from clinfer.cli.session import ModelOrder

    order = ModelOrder(model, device, text_of(precision))
    print_run(run_model(order, InputOrder(tuple(input or ()), tuple(shape or ()), seed), output), as_json=json)


@app.command()
def benchmark(
    model: Model,
    device: Device = "AUTO",
    input: Inputs = None,
    shape: Shapes = None,
    shapes: Annotated[list[str] | None, typer.Option(
        help="[NAME=][1,3,48,96/320/32..512:32] or 1x3x48x96,1x3x48x320: a stream of shapes in random order, "
             "new shapes and seen ones.",
    )] = None,
    requests: Annotated[int, typer.Option(help="Inferences in flight.", min=1, max=256)] = 1,
    streams: Annotated[int, typer.Option(help="Inferences that run at a time; 0: as many as suit.",
                                         min=0, max=64)] = 0,
    seconds: Annotated[float | None, typer.Option(
        help="How long to measure: 5 seconds, unless this or --iterations says otherwise.", min=0.0)] = None,
    iterations: Annotated[int | None, typer.Option(help="How many inferences to measure.", min=1)] = None,
    precision: Precisions = None,
    seed: Annotated[int, typer.Option(help="Of the random inputs and of the order of shapes.", min=0)] = 0,
    json: Json = False,
) -> None:
    """Measure a model: latency, throughput, first inference, compile time, device memory, new shapes.

    A warm-up of 0.3 s comes before and is not measured. Times include the transfers of inputs and outputs.
    """
    from clinfer.cli.benchmark import BenchmarkOrder, print_benchmark, run_benchmark
    from clinfer.cli.inputs import InputOrder
    from clinfer.cli.measuring import Limit
    from clinfer.cli.session import ModelOrder

    limit = Limit(iterations, 5.0 if seconds is None and iterations is None else seconds)
    print_benchmark(run_benchmark(BenchmarkOrder(
        ModelOrder(model, device, text_of(precision)), InputOrder(tuple(input or ()), tuple(shape or ()), seed),
        limit, requests, streams, tuple(shapes or ()))), as_json=json)


app.command("explain")(explain_command)


@app.command()
def warm(
    models: Annotated[list[Path], typer.Argument(parser=path_of, metavar="MODEL...",
                                                 help="Model files that OpenVINO reads.")],
    device: Device = "AUTO",
    precision: Precisions = None,
    json: Json = False,
) -> None:
    """Build the kernels of models, so that compiling them is quick from now on.

    What is built is kept at once, so that an interrupted run can go on.
    """
    from clinfer.cli.session import ModelOrder
    from clinfer.cli.warm import print_warm, run_warm

    print_warm(run_warm([ModelOrder(model, device, text_of(precision)) for model in models]), as_json=json)


@app.command("tune")
def tune_command(
    model: Annotated[list[str] | None, typer.Argument(
        metavar="[MODEL]", help="A model file that OpenVINO reads; with --kernel more sizes.")] = None,
    device: Device = "AUTO",
    shapes: Annotated[list[str] | None, typer.Option(
        help="[NAME=][1,3,48,320], an input's shape. Without it, open sizes are some that are likely.")] = None,
    precision: Precisions = None,
    kernel: Annotated[str, typer.Option(help="Tune an operation instead of a model: matmul, convolution.")] = "",
    sizes: Annotated[list[str] | None, typer.Option(
        help="Of that operation: rows=1,64,512 columns=768; all combinations are timed.")] = None,
    type: Annotated[str, typer.Option(help="The element type of that operation.")] = "f32",
    force: Annotated[bool, typer.Option("--force", help="Time again what was timed before.")] = False,
    export: Annotated[Path | None, typer.Option(
        parser=path_of, metavar="FILE", help="Receives what was measured on the device, as a table.")] = None,
    json: Json = False,
) -> None:
    """Time kernels on this device, so that the fastest are chosen from now on.

    What was timed is kept at once and not timed again, so that an interrupted run can go on.
    """
    from clinfer.cli.session import ModelOrder
    from clinfer.cli.tune import TuneOrder, print_tune, run_tune

    words = model or []
    if len(words) > 1 and not kernel:
        raise UsageError("one model is tuned at a time", values={"given": " ".join(words)})
    order = ModelOrder(path_of(words[0]), device, text_of(precision)) if words and not kernel else None
    all_sizes = (*(sizes or ()), *(words if kernel else ()))
    print_tune(run_tune(TuneOrder(device, order, tuple(shapes or ()), kernel, all_sizes, type, force, export)),
               as_json=json)


app.command("serve")(serve_command)


@app.command()
def top(
    address: Annotated[str, typer.Argument(metavar="[HOST:PORT]", help="Where `clinfer serve` has REST.")]
        = "127.0.0.1:8000",
    interval: Annotated[float, typer.Option(
        parser=seconds_of, metavar="DURATION", help="Between two looks.")] = "2s",  # type: ignore[assignment]
    once: Annotated[bool, typer.Option("--once", help="Print one table and end, as in a pipe.")] = False,
    json: Json = False,
) -> None:
    """Follow a running server: models, requests, latencies, memory, until Ctrl-C."""
    from clinfer.cli.top import follow

    follow(address, max(interval, 0.1), once, json)


@app.command()
def knobs(
    markdown: Annotated[bool, typer.Option("--markdown", help="Print docs/knobs.md.")] = False,
    json: Json = False,
) -> None:
    """List the environment variables that clinfer reads, with their present values."""
    from clinfer.cli.knobs import print_knobs

    print_knobs(as_markdown=markdown, as_json=json)


@app.command()
def operations(
    markdown: Annotated[bool, typer.Option("--markdown", help="Print docs/operations.md.")] = False,
    json: Json = False,
) -> None:
    """List OpenVINO's operations: which clinfer runs, and which are missing."""
    from clinfer.cli.operations import print_operations

    print_operations(as_markdown=markdown, as_json=json)


def _shown_warning(message: Warning | str, *_where: object, **_line: object) -> str:
    """A warning without the place in the code that gave it."""
    return f"Warning: {message}\n"


def main() -> None:
    """Run the command that the arguments of the process name."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Names of layers may hold letters that the terminal's or the pipe's encoding lacks.
            stream.reconfigure(errors="backslashreplace")
    warnings.formatwarning = _shown_warning
    try:
        try:
            app()
        finally:
            if sys.stdout:
                sys.stdout.flush()
    except ClinferError as error:
        print(f"clinfer: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, UsageError) else 1)
    except OSError as error:
        if error.errno not in _OUTPUT_FAILURES:
            raise
        _abandon_output(error)


def _abandon_output(error: OSError) -> NoReturn:
    """End where standard output cannot be written; silently where nobody reads it any more (`| head`)."""
    if not isinstance(error, BrokenPipeError):
        print(f"clinfer: the output cannot be written\n  reason: {error}", file=sys.stderr)
    # Python would try to write the rest at its end, and complain.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
    sys.exit(1)
