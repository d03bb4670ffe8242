"""Latency of the benchmark models on one device: `python -m bench.latency [--device GPU.0] [--precision f16]`

Medians of synchronous inferences through the public API, input and output transfers included, and the time
until a shape that was never seen before is answered. Absolute times; for ratios use `bench.compare`.
"""
from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

import clinfer
from bench.models import MODELS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(MODELS), help="default: all")
    parser.add_argument("--device", default="AUTO")
    parser.add_argument("--precision", default="")
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    config = {"INFERENCE_PRECISION_HINT": options.precision} if options.precision else {}
    rng = np.random.default_rng(0)
    for name in options.models:
        model = MODELS[name]
        start = time.perf_counter()
        request = clinfer.Core().compile_model(model.build(), options.device, config).create_infer_request()
        compiled = time.perf_counter() - start
        for shape in model.shapes:
            inputs = model.inputs(shape, rng)
            start = time.perf_counter()
            request.infer(inputs)
            first = time.perf_counter() - start
            times = []
            for _ in range(options.rounds):
                start = time.perf_counter()
                request.infer(inputs)
                times.append(time.perf_counter() - start)
            print(f"{name:15} {'x'.join(map(str, shape)):14} compiled in {compiled:6.2f} s   "
                  f"first {first * 1e3:8.2f} ms   seen {statistics.median(times) * 1e3:8.3f} ms", flush=True)


if __name__ == "__main__":
    main()
