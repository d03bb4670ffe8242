"""What the first shapes of a process cost: extra CPU time of the main thread over the same shape seen again, of clinfer
without its waits for the device, in which drivers of CPUs let the thread compute.

Each engine has a process of its own, in which every shape runs four times, each with other data; the fastest of the
later three is what it costs when it was seen. Shapes are random in batch, height, width and length. `--processes`
repeats it with other shapes: the table tells the median of each place in the order of arrival, the median of all but
the first inferences, which open what the device needs, and the maximum of all.
`python -m bench.first_shapes [MODEL...] [--engines clinfer openvino onnxruntime] [--shapes 10] [--processes 1]`
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable, Iterator

import numpy as np

from bench.worker import Job, Shape, Worker, usable_cpus

Random = np.random.Generator


def _tokens(random: Random) -> Shape:
    return int(random.integers(1, 5)), int(random.integers(1, 129))


def _pictures(random: Random) -> Shape:
    return int(random.integers(1, 3)), 3, *(32 * int(random.integers(2, 10)) for _ in range(2))


SHAPES: dict[str, Callable[[Random], Shape]] = {
    "minilm": _tokens,
    "t5": lambda random: (*_tokens(random), int(random.integers(1, 33))),
    "segformer": _pictures,
    "mamba": lambda random: (int(random.integers(1, 5)), int(random.integers(1, 33))),
    "ppocr_det": _pictures,
    "ppocr_rec": lambda random: (int(random.integers(1, 5)), 3, 48, int(random.integers(40, 480))),
}


def draw(model: str, count: int, seed: int) -> list[Shape]:
    """That many different shapes of a model, at random."""
    def endless() -> Iterator[Shape]:
        random = np.random.default_rng(seed)
        while True:
            yield SHAPES[model](random)

    found: dict[Shape, None] = {}
    for shape in endless():
        found.setdefault(shape)
        if len(found) == count:
            break
    return list(found)


def extra_ms(job: Job, shapes: list[Shape]) -> tuple[list[float], float]:
    """The extra milliseconds of each shape in a fresh process, and the seconds of compiling."""
    worker = Worker(job)
    try:
        extra = []
        for shape in shapes:
            first, *later = (worker.infer_host_ms(shape) for _ in range(4))
            extra.append(first - min(later))
        return extra, worker.compile_s
    finally:
        worker.close()


def _row(job: Job, runs: list[list[float]], compile_s: list[float]) -> str:
    places = list(zip(*runs, strict=True))
    shown = " | ".join(f"{statistics.median(place):.1f}" for place in places)
    later = [ms for place in places[1:] for ms in place]
    return (f"| {job.model} | {job.engine} | {statistics.median(compile_s):.2f} | {shown} | "
            f"{statistics.median(later):.1f} | {max(max(place) for place in places):.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(SHAPES))
    parser.add_argument("--engines", nargs="+", default=["clinfer", "openvino", "onnxruntime"])
    parser.add_argument("--device", default="CPU", help="clinfer's device")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--shapes", type=int, default=10)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print("| model | engine | compiled, s | " + " | ".join(f"{n + 1}." for n in range(options.shapes))
          + " | median of 2. on | maximum |")
    print("| --- " * (options.shapes + 5) + "|")
    with tempfile.TemporaryDirectory() as cache:
        for name in options.models:
            for engine in options.engines:
                device = options.device if engine == "clinfer" else "CPU"
                job = Job(engine, name, device, usable_cpus(), cache, options.precision)
                try:
                    if engine == "clinfer":
                        # With an empty cache of kernels the driver works in the background for a while.
                        Worker(job).close()
                    runs, compile_s = zip(*(extra_ms(job, draw(name, options.shapes, options.seed + number))
                                            for number in range(options.processes)), strict=True)
                except (RuntimeError, ValueError) as error:
                    print(f"{name} {engine}: {error}", flush=True)
                    continue
                print(_row(job, list(runs), list(compile_s)), flush=True)


if __name__ == "__main__":
    main()
