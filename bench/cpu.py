"""The table of a CPU: clinfer beside OpenVINO's CPU plugin, each engine and precision in a process of its own.

`speed`: one inference of each model at the first of its shapes, at f32 and at the precision that each engine takes by
itself; all take turns. Shown are clinfer's medians in milliseconds, how many times faster it is than OpenVINO at f32
and by default, what its default gains over its f32, and how far both defaults are from OpenVINO at f32: the largest
difference over the largest value of an output. ONNX Runtime takes part at f32 where it is installed and can read the
model. `int8` is `bench.int8`, `start` is `bench.start`.
Usage: python -m bench.cpu [resnet50 ...] [--parts speed int8 start] [--device CPU.0] [--rounds 20]
"""
from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from bench import int8, start
from bench.compare import largest_difference
from bench.models import FILES, MODELS
from bench.worker import Job, Worker, in_turns, usable_cpus

OURS, OURS_DEFAULT = "clinfer f32", "clinfer default"
THEIRS, THEIRS_DEFAULT = "openvino f32", "openvino default"
ONNX = "onnxruntime"
PARTS = ("speed", "int8", "start")
COLUMNS = ("model, shape", "f32 ms", "default ms", "f32: to OpenVINO", "to ONNX Runtime", "default: to OpenVINO",
           "to f32", "error", "OpenVINO's error")


@dataclass(frozen=True)
class Speed:
    """One model: milliseconds by engine, and the errors of the two defaults."""

    times: Mapping[str, float]
    error: float
    their_error: float

    def gain(self, slow: str, fast: str) -> float | None:
        """How many times faster one is than the other; None where one of them did not run."""
        return self.times[slow] / self.times[fast] if slow in self.times else None

    @property
    def gains(self) -> tuple[float | None, ...]:
        """In the order of the columns."""
        return (self.gain(THEIRS, OURS), self.gain(ONNX, OURS), self.gain(THEIRS_DEFAULT, OURS_DEFAULT),
                self.gain(OURS, OURS_DEFAULT))


def measure(name: str, device: str, rounds: int, cache: str) -> Speed:
    """All engines on one model, in turns."""
    shape, threads = MODELS[name].shapes[0], usable_cpus()
    jobs = {OURS: Job("clinfer", name, device, threads, cache),
            OURS_DEFAULT: Job("clinfer", name, device, threads, cache, ""),
            THEIRS: Job("openvino", name, "CPU", threads, cache),
            THEIRS_DEFAULT: Job("openvino", name, "CPU", threads, cache, "")}
    if name in FILES and find_spec("onnxruntime"):
        jobs[ONNX] = Job("onnxruntime", name, "CPU", threads, cache)
    workers: dict[str, Worker] = {}
    try:
        for engine, job in jobs.items():
            workers[engine] = Worker(job)
        times = in_turns(workers, shape, rounds)
        exact, ours, theirs = (workers[engine].outputs(shape) for engine in (THEIRS, OURS_DEFAULT, THEIRS_DEFAULT))
    finally:
        for worker in workers.values():
            worker.close()
    return Speed(times, largest_difference(ours, exact), largest_difference(theirs, exact))


def show_speed(names: Sequence[str], device: str, rounds: int, folder: str) -> None:
    """The table of `measure`, row by row, and the geometric means of what was gained."""
    _show_row(COLUMNS)
    _show_row(["---"] * len(COLUMNS))
    found = []
    for name in names:
        speed = measure(name, device, rounds, folder)
        found.append(speed)
        shape = "x".join(map(str, MODELS[name].shapes[0]))
        _show_row([f"{name} {shape}", f"{speed.times[OURS]:.2f}", f"{speed.times[OURS_DEFAULT]:.2f}",
                   *map(_shown, speed.gains), f"{speed.error:.1e}", f"{speed.their_error:.1e}"])
    means = [statistics.geometric_mean(known) if (known := [x for x in column if x]) else None
             for column in zip(*(speed.gains for speed in found), strict=True)]
    _show_row(["geometric mean", "", "", *map(_shown, means), "", ""])


def _shown(gain: float | None) -> str:
    return "" if gain is None else f"{gain:.2f}"


def _show_row(cells: Sequence[str]) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help=f"default: {', '.join(start.TWELVE)}; of int8 {int8.DEFAULT}")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--device", default="CPU.0")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if "speed" in options.parts:
            show_speed(options.models or start.TWELVE, options.device, options.rounds, folder)
        if "int8" in options.parts:
            int8.show(options.models or int8.DEFAULT, options.device, options.rounds, folder)
    if "start" in options.parts:
        start.show(options.models or start.TWELVE, options.device, "f32", rounds=3)


if __name__ == "__main__":
    main()
