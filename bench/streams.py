"""Throughput of several streams, beside one and beside OpenVINO's CPU plugin with as many, in one run.

Each engine with each number of streams is a process of its own, which infers by an AsyncInferQueue at f32; they take
turns, so that a change of the machine's speed meets all. Shown are inferences per second (medians of turns), what
several streams gain over one, and how many times more than OpenVINO clinfer does with several.
Usage: python -m bench.streams [MODEL...] [--device CPU.0] [--streams 2] [--turns 15]
"""
from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence

from bench.models import MODELS
from bench.start import TWELVE
from bench.worker import REST_S, Job, Shape, Worker, usable_cpus

ENGINES = ("clinfer", "openvino")
Key = tuple[str, int]


def rates(workers: Mapping[Key, Worker], shape: Shape, turns: int, seconds: float) -> dict[Key, list[float]]:
    """By engine and number of streams, inferences per second of each turn, which has about so many seconds of work."""
    for worker in workers.values():
        worker.infer_ms(shape)
    slowest = max(worker.infer_ms(shape) for worker in workers.values())
    count = max(4, int(seconds * 1e3 / slowest))
    found: dict[Key, list[float]] = {key: [] for key in workers}
    for turn in range(turns + 1):
        for key in list(workers)[:: 1 if turn % 2 else -1]:
            time.sleep(REST_S)
            rate = count * 1e3 / workers[key].many_ms(shape, count)
            if turn:
                found[key].append(rate)
    return found


def measure(name: str, device: str, streams: int, turns: int, seconds: float, cache: str) -> dict[Key, list[float]]:
    """The rates of a model at the first of its shapes."""
    threads = usable_cpus()
    workers: dict[Key, Worker] = {}
    try:
        for engine in ENGINES:
            for count in (1, streams):
                job = Job(engine, name, device if engine == "clinfer" else "CPU", threads, cache, streams=count)
                workers[engine, count] = Worker(job)
        return rates(workers, MODELS[name].shapes[0], turns, seconds)
    finally:
        for worker in workers.values():
            worker.close()


def show(names: Sequence[str], device: str, streams: int, turns: int, seconds: float) -> None:
    """The table, row by row, and the geometric mean of its last column."""
    ways = [(engine, count) for engine in ENGINES for count in (1, streams)]
    columns = ("model", *(f"{engine}, {count}" for engine, count in ways), "gain", "OpenVINO's gain", "to OpenVINO")
    print(f"| {' | '.join(columns)} |\n{'| --- ' * len(columns)}|")
    ratios = []
    with tempfile.TemporaryDirectory() as cache:
        for name in names:
            found = measure(name, device, streams, turns, seconds, cache)
            pairs = [(("clinfer", streams), ("clinfer", 1)), (("openvino", streams), ("openvino", 1)),
                     (("clinfer", streams), ("openvino", streams))]
            gains = [statistics.median(a / b for a, b in zip(found[one], found[other], strict=True))
                     for one, other in pairs]
            ratios.append(gains[-1])
            print(f"| {name} | {' | '.join(f'{statistics.median(found[way]):.1f}' for way in ways)} | "
                  f"{' | '.join(f'{gain:.2f}' for gain in gains)} |", flush=True)
    print(f"geometric mean to OpenVINO: {statistics.geometric_mean(ratios):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=TWELVE)
    parser.add_argument("--device", default="CPU.0")
    parser.add_argument("--streams", type=int, default=2)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.5, help="of work in a turn, about")
    options = parser.parse_args()
    show(options.models, options.device, options.streams, options.turns, options.seconds)


if __name__ == "__main__":
    main()
