"""The same stream of random shapes on several engines, in one run: what a new shape costs, and a seen one.

Each engine has a process of its own; shape by shape they take turns, and each answers a new shape once and then
twice more. `python -m bench.shape_streams MODEL [--engines clinfer openvino onnxruntime] [--shapes 60]`
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile

import numpy as np

from bench.new_shapes import SHAPES
from bench.worker import Job, Shape, Worker, usable_cpus

Times = list[tuple[float, float]]


def run(workers: dict[str, Worker], shapes: list[Shape]) -> dict[str, Times]:
    """Milliseconds of (the first, the faster of two later) inferences, by engine, for each shape."""
    times: dict[str, Times] = {name: [] for name in workers}
    for number, shape in enumerate(shapes):
        order = list(workers.items())
        for name, worker in order[number % len(order):] + order[: number % len(order)]:
            first, *later = (worker.infer_ms(shape) for _ in range(3))
            times[name].append((first, min(later)))
    return times


def report(name: str, times: Times, base: Times) -> str:
    """One line: first over seen, and seen over the first engine's, as medians over the shapes."""
    new = [first / seen for first, seen in times]
    beside = [ours[1] / theirs[1] for ours, theirs in zip(times, base, strict=True)]
    return (f"{name:15} first {statistics.median(first for first, _ in times):9.2f} ms   "
            f"seen {statistics.median(seen for _, seen in times):9.2f} ms   "
            f"first/seen {statistics.median(new):6.2f} (p90 {np.percentile(new, 90):6.2f})   "
            f"seen beside the first engine {statistics.median(beside):5.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=list(SHAPES))
    parser.add_argument("--engines", nargs="+", default=["clinfer", "openvino", "onnxruntime"])
    parser.add_argument("--device", default="CPU", help="clinfer's device")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--shapes", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    shapes = list(dict.fromkeys(SHAPES[options.model](random) for _ in range(options.shapes)))
    workers: dict[str, Worker] = {}
    with tempfile.TemporaryDirectory() as cache:
        try:
            for engine in options.engines:
                device = options.device if engine == "clinfer" else "CPU"
                job = Job(engine, options.model, device, usable_cpus(), cache, options.precision)
                worker = workers[engine] = Worker(job)
                print(f"{engine:15} compiled in {worker.compile_s:.2f} s; {worker.device}", flush=True)
            times = run(workers, shapes)
        except RuntimeError as error:
            sys.exit(f"error: {error}")
        finally:
            for worker in workers.values():
                worker.close()
    for engine in times:
        print(report(engine, times[engine], times[options.engines[0]]))


if __name__ == "__main__":
    main()
