"""A stream of shapes: which shapes `--shapes` means, and the order in which they come."""
from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import numpy as np

from clinfer.api.arrays import Declared
from clinfer.api.ports import Ports, port_name
from clinfer.base.shape import StaticShape
from clinfer.cli.inputs import split_entry
from clinfer.cli.usage import UsageError, told_as_usage

LARGEST = 1000
"""As many shapes as a stream may have."""

_PART = re.compile(r"(\d{1,9})(?:\.\.(\d{1,9})(?::(\d{1,9}))?)?")
_SHAPES = re.compile(r"\d{1,9}(x\d{1,9})+(,\d{1,9}(x\d{1,9})+)*")
_HINT = "write a size as 96, as a list 96/320/517, or as a range 32..512:32; or whole shapes as 1x3x48x96,1x3x48x320"


def read_shape_stream(ports: Ports, entries: tuple[str, ...]) -> list[dict[int, StaticShape]]:
    """The shapes of `--shapes [NAME=][1,3,48,96/320/32..512:32]`: for each step, a shape per input index.

    All combinations of the sizes within one entry, or the shapes of a list 1x3x48x96,1x3x48x320; several entries (one
    per input) go through theirs together.
    """
    columns: dict[int, list[StaticShape]] = {}
    for entry in entries:
        index, text = split_entry(ports, entry, "--shapes")
        declared = Declared.of(ports.inputs[index], "input")
        columns[index] = _listed(text) if _SHAPES.fullmatch(text.strip()) else _combinations(text)
        for shape in columns[index]:
            with told_as_usage("give shapes within these bounds"):
                declared.check_shape(shape)
    if len({len(column) for column in columns.values()}) != 1:
        raise UsageError("the inputs of a stream need as many shapes as each other", values={
            port_name(ports.inputs[index]): f"{len(column)} shapes" for index, column in columns.items()})
    steps = [dict(zip(columns, shapes, strict=True)) for shapes in zip(*columns.values(), strict=True)]
    distinct = {tuple(sorted(step.items())): step for step in steps}
    if len(distinct) < 2:
        raise UsageError("a stream needs two shapes at least", values={"given": " ".join(entries)}, hint=_HINT)
    return list(distinct.values())


def shuffled(count: int, random: np.random.Generator) -> Iterator[int]:
    """Indices below `count` without end: index 0 is taken as seen; each of the others comes up new at random,
    half of the time while there are new ones, and seen ones in between."""
    fresh = (random.permutation(count - 1) + 1).tolist()
    seen = [0]
    while True:
        if fresh and random.random() < 0.5:
            seen.append(fresh.pop())
            yield seen[-1]
        else:
            yield seen[int(random.integers(len(seen)))]


def _listed(text: str) -> list[StaticShape]:
    shapes = [tuple(map(int, part.split("x"))) for part in text.strip().split(",")]
    _check_count(len(shapes), text)
    return shapes


def _check_count(count: int, text: str) -> None:
    if count > LARGEST:
        raise UsageError("a stream of shapes is too long", values={"given": text, "shapes": count, "most": LARGEST},
                         hint="give a range a larger step, such as 32..512:32")


def _combinations(text: str) -> list[StaticShape]:
    body = text.strip().removeprefix("[").removesuffix("]")
    sizes = [_sizes(part.strip(), text) for part in body.split(",")]
    _check_count(int(np.prod([len(each) for each in sizes], dtype=object)), text)
    return list(itertools.product(*sizes))


def _sizes(part: str, text: str) -> list[int]:
    found: list[int] = []
    for piece in part.split("/"):
        match = _PART.fullmatch(piece.strip())
        if match is None:
            raise UsageError("a stream of shapes is not written so", values={"given": text, "at": part}, hint=_HINT)
        low, high, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if high < low or step < 1 or (high - low) // step >= LARGEST:
            raise UsageError("a range of sizes is empty or too long", values={"given": text, "at": part}, hint=_HINT)
        found += range(low, high + 1, step)
    return list(dict.fromkeys(found))
