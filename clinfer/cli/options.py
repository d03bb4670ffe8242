"""The options that several commands have."""
from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clinfer.cli.choices import Precision


def path_of(text: str) -> Path:
    """The path that a word names. An empty word is told as one: `Path` would make it the present folder."""
    if not text:
        raise typer.BadParameter("the path is empty (a variable of the shell may be unset)")
    return Path(text)


Model = Annotated[Path, typer.Argument(parser=path_of, metavar="MODEL", help="A model file that OpenVINO reads.")]
Device = Annotated[str, typer.Option(help="CPU, GPU.1, ... AUTO is the first GPU, else the CPU.")]
Inputs = Annotated[list[str] | None, typer.Option(
    help="[NAME=]FILE, an input's contents: .npy, .npz or a picture. Other inputs are random.")]
Shapes = Annotated[list[str] | None, typer.Option(
    help="[NAME=][1,3,48,320] or [NAME=]1x3x48x320, an input's shape. Without it, dynamic dimensions are 64, or 1 if "
         "first.")]
Precisions = Annotated[Precision | None, typer.Option(help="Of floats. Without it the device decides.")]
Seed = Annotated[int, typer.Option(help="Of the random inputs.", min=0)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def text_of(precision: Precision | None) -> str:
    """What a `ModelOrder` takes; empty where the device decides."""
    return precision.value if precision else ""
