"""Quantised models beside the same models in f32, and OpenVINO's CPU plugin beside both, each in a process of its own.

The models of `bench.models` are quantised by FakeQuantize (`bench.models.quantised`) and read from a file by both
engines. All take turns, inference by inference; shown are medians in milliseconds, how many times faster clinfer's
quantised model is than its f32 and than OpenVINO's quantised one, and the largest difference between the two quantised
results over the largest value.
`python -m bench.int8 [resnet50 bert_base ...] [--device CPU.0] [--rounds 20]`
"""
from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import openvino as ov

from bench.compare import difference
from bench.models import MODELS
from bench.models.quantised import quantise
from bench.worker import Job, Worker, in_turns, usable_cpus

ENGINES = ("int8", "f32", "openvino int8")
DEFAULT = ("resnet50", "mobilenet_v3", "bert_base")


def measure(name: str, device: str, rounds: int, folder: str) -> str:
    """A row of the table: one model at the first of its shapes."""
    model, shape = MODELS[name], MODELS[name].shapes[0]
    quantised, path = model.build(), str(Path(folder) / f"{name}.xml")
    quantise(quantised, model.inputs(shape, np.random.default_rng(0)))
    ov.save_model(quantised, path, compress_to_fp16=False)
    threads = usable_cpus()
    jobs = {"int8": Job("clinfer", path, device, threads, folder, inputs_of=name),
            "f32": Job("clinfer", name, device, threads, folder),
            "openvino int8": Job("openvino", path, "CPU", threads, folder, inputs_of=name)}
    workers = {engine: Worker(jobs[engine]) for engine in ENGINES}
    try:
        times = in_turns(workers, shape, rounds)
        ours, theirs = (workers[engine].outputs(shape)[0] for engine in ("int8", "openvino int8"))
    finally:
        for worker in workers.values():
            worker.close()
    own, full, other = (times[engine] for engine in ENGINES)
    error = difference(ours, theirs)
    return f"{name:<14}{own:>9.1f}{full:>9.1f}{other:>15.1f}{full / own:>9.2f}{other / own:>13.2f}{error:>9.1e}"


def show(names: Sequence[str], device: str, rounds: int, folder: str) -> None:
    """The table, row by row."""
    print(f"{'model':<14}{'int8':>9}{'f32':>9}{'openvino int8':>15}{'to f32':>9}{'to openvino':>13}{'error':>9}")
    for name in names:
        print(measure(name, device, rounds, folder), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=DEFAULT, help=f"default: {', '.join(DEFAULT)}")
    parser.add_argument("--device", default="CPU")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        show(options.models, options.device, options.rounds, folder)


if __name__ == "__main__":
    main()
