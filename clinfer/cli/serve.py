"""`clinfer serve`: a server of models, until it is told to end."""
from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from clinfer.base.errors import ClinferError
from clinfer.cli.choices import Precision
from clinfer.cli.usage import UsageError, told_as_usage

if TYPE_CHECKING:
    from clinfer.serve.options import ServerOptions

_LOOK_S = 0.5
_UNITS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0}


def seconds_of(text: str) -> float:
    """The seconds of a duration such as `2ms`, `0.5s` or `10min`; a number alone is in seconds."""
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    try:
        seconds = float(number) * _UNITS[text[len(number):]]
    except (KeyError, ValueError):
        seconds = -1.0
    if not 0.0 <= seconds < float("inf"):
        raise typer.BadParameter(f"{text} is no duration such as 2ms, 0.5s or 10min")
    return seconds


def _replicas(text: str) -> int:
    if text != "auto" and not (text.isdecimal() and int(text)):
        raise typer.BadParameter(f"{text} is neither auto nor a number of replicas")
    return 0 if text == "auto" else int(text)


def serve_command(
    models: Annotated[list[str] | None, typer.Argument(
        metavar="[NAME[:VERSION]=]MODEL...", help="Model files. A name is the file's stem, a version 1, "
                                                  "unless given.")] = None,
    repository: Annotated[Path | None, typer.Option(
        help="A folder of models that clients may load and unload: NAME.onnx, NAME/VERSION/model.onnx.")] = None,
    host: Annotated[str, typer.Option(help="Where to listen. 0.0.0.0: other machines may ask, too.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Of REST.", min=1, max=65535)] = 8000,
    grpc_port: Annotated[int, typer.Option(help="Of gRPC.", min=1, max=65535)] = 8001,
    device: Annotated[str, typer.Option(
        help="AUTO is all GPUs, or the first CPU; CPU, GPU.1, or a list GPU.0,GPU.2.")] = "AUTO",
    replicas: Annotated[int, typer.Option(
        parser=_replicas, metavar="auto|N", help="Processes of each model; auto: one for each device.")] = "auto",  # type: ignore[assignment]
    max_batch: Annotated[int, typer.Option(help="Rows computed at once; 1: no request waits for others.",
                                           min=1, max=4096)] = 32,
    batch_wait: Annotated[float, typer.Option(
        parser=seconds_of, metavar="DURATION", help="How long a request waits for others.")] = "2ms",  # type: ignore[assignment]
    precision: Annotated[Precision | None, typer.Option(help="Of floats. Without it the device decides.")] = None,
    queue: Annotated[int, typer.Option(help="Requests that wait for a model before others are refused.",
                                       min=1)] = 256,
    timeout: Annotated[float, typer.Option(
        parser=seconds_of, metavar="DURATION", help="After which an inference is cancelled.")] = "60s",  # type: ignore[assignment]
    max_body: Annotated[int, typer.Option(help="MiB of a request.", min=1, max=2000)] = 64,
    max_tensor: Annotated[int, typer.Option(help="MiB of an input.", min=1, max=2000)] = 64,
    drain: Annotated[float, typer.Option(
        parser=seconds_of, metavar="DURATION", help="How long the end waits for inferences.")] = "30s",  # type: ignore[assignment]
    address: Annotated[str, typer.Option(
        help="Of a Ray cluster. Without it, Ray is started on this machine and ends with the server.")] = "",
) -> None:
    """Serve models by the Open Inference Protocol v2 (REST and gRPC) on Ray Serve, until Ctrl-C or SIGTERM."""
    if not models and repository is None:
        raise UsageError("there is nothing to serve", hint="name a model, or a --repository of models")
    try:
        from clinfer.serve.messages import Limits
        from clinfer.serve.options import ModelOptions, ServerOptions
        from clinfer.serve.server import serving
        from clinfer.serve.sources import check_sources, parse_source
    except ModuleNotFoundError as missing:
        raise ClinferError("serving needs packages that are not installed", where="command line",
                           values={"missing": missing.name}, hint="pip install clinfer[serve]") from None
    with told_as_usage():
        sources = tuple(parse_source(text) for text in models or ())
        check_sources(sources)
    if repository is not None and not repository.is_dir():
        raise UsageError("the repository is no folder", values={"--repository": repository})
    options = ServerOptions(
        sources, repository and repository.resolve(), host, port, grpc_port, address, replicas,
        ModelOptions(device, precision=precision.value if precision else "", max_batch=max_batch,
                     batch_wait_s=batch_wait, queue=queue),
        Limits(max_body << 20, max_tensor << 20, timeout), drain)
    with serving(options) as found:
        ended = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _ending(ended))
        print(f"clinfer: serving {_names(options)} on {found.device}, replicas of each: {found.replicas}\n"
              f"  REST http://{host}:{port}/v2  gRPC {host}:{grpc_port}  metrics http://{host}:{port}/metrics",
              flush=True)
        while not ended.wait(_LOOK_S):
            # Where another thread was given the signal, Python calls the handler when this one wakes up.
            pass
        print("clinfer: ending; inferences under way are computed", file=sys.stderr, flush=True)


def _names(options: ServerOptions) -> str:
    return ", ".join(f"{each.name}:{each.version}" for each in options.models) or f"{options.repository} on demand"


def _ending(ended: threading.Event) -> Callable[[int, FrameType | None], None]:
    """A signal's handler: the first ends the server in order, the second at once."""
    def end(number: int, frame: FrameType | None) -> None:
        if ended.is_set():
            raise KeyboardInterrupt
        ended.set()

    return end
