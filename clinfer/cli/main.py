"""`clinfer`: its commands, and how they end.

Exit status: 0 done, 1 an error of the engine or the model (told on standard error), 2 wrong usage.
"""
from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from clinfer.base.errors import ClinferError

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False,
                  help="Runs any model that OpenVINO can read on any OpenCL device.")


@app.command()
def devices(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List the OpenCL devices."""
    from clinfer.cli.devices import print_devices

    print_devices(as_json=json)


@app.command()
def run(
    model: Annotated[Path, typer.Argument(help="A model file that OpenVINO reads.")],
    device: Annotated[str, typer.Option(help="CPU, GPU.1, ... AUTO is the first GPU, else the CPU.")] = "AUTO",
    input: Annotated[list[str] | None, typer.Option(
        help="NAME=FILE.npy, an input's contents; other inputs are random.")] = None,
    shape: Annotated[list[str] | None, typer.Option(
        help="NAME=[1,3,48,320], a random input's shape. Without it, dynamic dimensions are 64, or 1 if first.",
    )] = None,
    precision: Annotated[str, typer.Option(help="f32 or f16; empty: the device decides.")] = "",
    seed: Annotated[int, typer.Option(help="Of the random inputs.")] = 0,
    output: Annotated[Path | None, typer.Option(help="Folder that receives the outputs as .npy files.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compile a model and run it: its inputs, outputs and times."""
    from clinfer.cli.run import Order, print_run, run_model

    order = Order(model, device, tuple(input or ()), tuple(shape or ()), precision, seed, output)
    print_run(run_model(order), as_json=json)


def main() -> None:
    """The entry point of the console script."""
    try:
        app()
    except ClinferError as error:
        print(f"clinfer: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
