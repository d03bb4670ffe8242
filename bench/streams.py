"""Throughput of several streams beside one, in one run: by threads with a request each, and by AsyncInferQueue.

Turns of both follow each other, so that a change of the machine's speed meets both. A ratio above 1 means that
several streams do more. `python -m bench.streams [MODEL...] [--device CPU.0] [--streams 2]`
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import clinfer
from bench.models import MODELS, Inputs

Run = Callable[[list[Inputs]], None]


def by_threads(compiled: clinfer.CompiledModel, count: int) -> Run:
    """`count` threads, each with a request and its share of the work."""
    pool = ThreadPoolExecutor(count)
    requests = [compiled.create_infer_request() for _ in range(count)]

    def share(number: int, work: list[Inputs]) -> None:
        for inputs in work[number::count]:
            requests[number].infer(inputs)

    def run(work: list[Inputs]) -> None:
        for future in [pool.submit(share, number, work) for number in range(count)]:
            future.result()
    return run


def by_queue(compiled: clinfer.CompiledModel, count: int) -> Run:
    """A queue of that many requests."""
    queue = clinfer.AsyncInferQueue(compiled, count)

    def run(work: list[Inputs]) -> None:
        for inputs in work:
            queue.start_async(inputs, share_inputs=True)
        queue.wait_all()
    return run


def rates(runs: list[Run], work: list[Inputs], turns: int) -> list[list[float]]:
    """Inferences per second of each way, turn by turn."""
    found: list[list[float]] = [[] for _ in runs]
    for run in runs:
        run(work)
        run(work)
    for _ in range(turns):
        for run, rate in zip(runs, found, strict=True):
            start = time.perf_counter()
            run(work)
            rate.append(len(work) / (time.perf_counter() - start))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["minilm", "ppocr_rec"])
    parser.add_argument("--device", default="AUTO")
    parser.add_argument("--streams", type=int, default=2)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.5, help="of work in a turn, about")
    options = parser.parse_args()
    core, rng = clinfer.Core(), np.random.default_rng(0)
    for name in options.models:
        model = MODELS[name]
        one, several = (core.compile_model(model.build(), options.device, {"NUM_STREAMS": count})
                        for count in (1, options.streams))
        for shape in model.shapes[:2]:
            inputs = model.inputs(shape, rng)
            one(inputs)
            start = time.perf_counter()
            one(inputs)
            count = max(4, int(options.seconds / (time.perf_counter() - start)))
            for way in (by_threads, by_queue):
                alone, beside = rates([way(one, 1), way(several, options.streams)], [inputs] * count, options.turns)
                ratio = statistics.median(b / a for a, b in zip(alone, beside, strict=True))
                print(f"{name:12} {'x'.join(map(str, shape)):12} {way.__name__:10} 1 stream "
                      f"{statistics.median(alone):8.1f}/s   {options.streams} streams "
                      f"{statistics.median(beside):8.1f}/s   ratio {ratio:5.2f}", flush=True)


if __name__ == "__main__":
    main()
