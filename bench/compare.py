"""Compares clinfer with OpenVINO's CPU plugin on one model in one precision, in one run.

Each engine has a process of its own and the two take turns inference by inference, so that a change of the
machine's speed meets both. Ratios above 1 mean that clinfer is slower.
Usage: python -m bench.compare resnet50 [--shapes 1,3,224,224 2,3,224,224] [--device CPU]
       [--precision bf16] [--json file]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.models import MODELS
from bench.worker import Arrays, Job, Shape, Worker, usable_cpus

ENGINES = ("clinfer", "openvino")


@dataclass(frozen=True)
class Times:
    """Milliseconds per inference of one engine at one shape: the first one, then statistics of the others."""

    first: float
    median: float
    p10: float
    p90: float


@dataclass(frozen=True)
class Row:
    """One shape: both engines' times, their ratio, and the largest difference over the largest value of an output."""

    shape: Shape
    clinfer: Times
    openvino: Times
    ratio: float
    error: float


@dataclass(frozen=True)
class Report:
    """A run. Compile times in seconds; `cold` is with an empty kernel cache, `warm` with the one it left."""

    model: str
    precision: str
    threads: int
    devices: dict[str, str]
    compile_cold_s: dict[str, float]
    compile_warm_s: dict[str, float]
    rows: tuple[Row, ...]


def compare(model: str, shapes: list[Shape], device: str, threads: int, rounds: int, precision: str) -> Report:
    """Runs the comparison; takes turns for `rounds` inferences per engine and shape."""
    with tempfile.TemporaryDirectory() as cache:
        jobs = {
            "clinfer": Job("clinfer", model, device, threads, cache, precision),
            "openvino": Job("openvino", model, "CPU", threads, cache, precision),
        }
        cold = {}
        for name in ENGINES:
            worker = Worker(jobs[name])
            cold[name] = worker.compile_s
            worker.close()
        workers = {name: Worker(jobs[name]) for name in ENGINES}
        try:
            rows = _measure(workers, shapes, rounds)
        finally:
            for worker in workers.values():
                worker.close()
    devices = {name: worker.device for name, worker in workers.items()}
    warm = {name: worker.compile_s for name, worker in workers.items()}
    return Report(model, precision, threads, devices, cold, warm, rows)


def _measure(workers: dict[str, Worker], shapes: list[Shape], rounds: int) -> tuple[Row, ...]:
    first = {(name, shape): workers[name].infer_ms(shape) for shape in shapes for name in ENGINES}
    seen: dict[tuple[str, Shape], list[float]] = {key: [] for key in first}
    for turn in range(rounds):
        for shape in random.sample(shapes, len(shapes)):
            for name in ENGINES[:: 1 if turn % 2 else -1]:
                seen[name, shape].append(workers[name].infer_ms(shape))
    return tuple(_row(workers, shape, first, seen) for shape in shapes)


def _row(
    workers: dict[str, Worker],
    shape: Shape,
    first: dict[tuple[str, Shape], float],
    seen: dict[tuple[str, Shape], list[float]],
) -> Row:
    ours, theirs = (_times(first[name, shape], seen[name, shape]) for name in ENGINES)
    return Row(shape, ours, theirs, ours.median / theirs.median, _error(workers, shape))


def _times(first: float, seen: list[float]) -> Times:
    p10, median, p90 = (float(p) for p in np.percentile(seen, (10, 50, 90)))
    return Times(first, median, p10, p90)


def _error(workers: dict[str, Worker], shape: Shape) -> float:
    """The largest over the outputs."""
    ours, theirs = (workers[name].outputs(shape) for name in ENGINES)
    return largest_difference(ours, theirs)


def largest_difference(ours: Arrays, theirs: Arrays) -> float:
    """That of the output that differs the most."""
    return max(difference(got, want) for got, want in zip(ours, theirs, strict=True))


def difference(got: NDArray[Any], want: NDArray[Any]) -> float:
    """The largest difference over the largest value; infinite for other shapes and for what is not finite."""
    if got.shape != want.shape or not np.isfinite(got).all():
        return float("inf")
    return float(np.abs(got - want).max() / np.abs(want).max())


def render(report: Report) -> str:
    """The report as text for a person."""
    lines = [f"{report.model}, {report.precision}, {report.threads} threads"]
    for name in ENGINES:
        cold, warm = report.compile_cold_s[name], report.compile_warm_s[name]
        lines.append(f"{name:<9} compiled in {cold:.2f} s cold, {warm:.2f} s warm; {report.devices[name]}")
    lines.append(
        f"\n{'shape':<18}{'ratio':>6}{'error':>9}   "
        + "".join(f"{name + ' ms':>13}{'p10':>8}{'p90':>8}{'first':>9}{'/seen':>6}" for name in ENGINES)
    )
    for row in report.rows:
        shape = ",".join(map(str, row.shape))
        cells = _cells(row.clinfer) + _cells(row.openvino)
        lines.append(f"{shape:<18}{row.ratio:>6.2f}{row.error:>9.1e}   {cells}")
    return "\n".join(lines)


def _cells(times: Times) -> str:
    new = times.first / times.median
    return f"{times.median:>13.2f}{times.p10:>8.2f}{times.p90:>8.2f}{times.first:>9.1f}{new:>6.1f}"


def _parse_shape(text: str) -> Shape:
    return tuple(int(size) for size in text.split(","))


def main() -> None:
    parser = argparse.ArgumentParser(description="Compares clinfer with OpenVINO's CPU plugin.")
    parser.add_argument("model", help=f"{', '.join(MODELS)}, or a model file with one f32 input")
    parser.add_argument("--shapes", nargs="+", type=_parse_shape, help="input shapes such as 1,3,224,224")
    parser.add_argument("--device", default="CPU", help="clinfer's device (default: CPU)")
    parser.add_argument("--threads", type=int, default=usable_cpus(), help="CPUs for each engine (default: all)")
    parser.add_argument("--rounds", type=int, default=20, help="inferences per shape (default: 20)")
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32", help="of both engines (default: f32)")
    parser.add_argument("--json", type=Path, help="a file that receives the numbers")
    options = parser.parse_args()
    if options.model not in MODELS and not options.shapes:
        parser.error("a model file needs --shapes")
    shapes = options.shapes or list(MODELS[options.model].shapes)
    try:
        report = compare(options.model, shapes, options.device, options.threads, options.rounds, options.precision)
    except RuntimeError as error:
        sys.exit(f"error: {error}")
    print(render(report))
    if options.json:
        options.json.write_text(json.dumps(asdict(report), indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
