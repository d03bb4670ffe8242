"""Recurrent layers of several sizes beside OpenVINO's CPU plugin at f32, each engine in a process of its own.

The engines take turns of three inferences, of which the last two count: the first one finds the caches full of what the
other engine used. Inputs are as wide as the states. Ratios above 1 mean that clinfer is faster.
`python -m bench.recurrent [LSTM GRU RNN] [--hidden 64 256 512] [--batch 1] [--steps 50] [--bidirectional]`
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

import numpy as np
import openvino as ov
from openvino import opset13 as ops

from bench.worker import Job, Worker, usable_cpus

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
ENGINES = ("clinfer", "openvino")


def build(cell: str, hidden: int, batch: int, steps: int, bidirectional: bool) -> ov.Model:
    """A layer whose weights are uniform within 1 / sqrt(hidden), as frameworks draw them."""
    random, rows, directions = np.random.default_rng(0), GATES[cell] * hidden, 1 + bidirectional

    def drawn(*shape: int) -> np.ndarray:
        return random.uniform(-(hidden**-0.5), hidden**-0.5, shape).astype(np.float32)

    x = ops.parameter([batch, steps, hidden], np.float32)
    state = ops.constant(np.zeros((batch, directions, hidden), np.float32))
    lengths = ops.constant(np.full(batch, steps, np.int32))
    weights = drawn(directions, rows, hidden), drawn(directions, rows, hidden), drawn(directions, rows)
    direction = "bidirectional" if bidirectional else "forward"
    if cell == "LSTM":
        layer = ops.lstm_sequence(x, state, state, lengths, *weights, hidden, direction)
    else:
        make = ops.gru_sequence if cell == "GRU" else ops.rnn_sequence
        layer = make(x, state, lengths, *weights, hidden, direction)
    return ov.Model(list(layer.outputs()), [x], f"{cell}{hidden}")


def measure(path: Path, shape: tuple[int, ...], device: str, threads: int, rounds: int) -> str:
    """The line of one model."""
    cache = str(path.parent)
    workers = {name: Worker(Job(name, str(path), device if name == "clinfer" else "CPU", threads, cache))
               for name in ENGINES}
    times: dict[str, list[float]] = {name: [] for name in ENGINES}
    try:
        for _ in range(rounds):
            for name, worker in workers.items():
                times[name] += [worker.infer_ms(shape) for _ in range(3)][1:]
        ours, theirs = (workers[name].outputs(shape) for name in ENGINES)
    finally:
        for worker in workers.values():
            worker.close()
    error = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(ours, theirs, strict=True))
    own, other = (times[name] for name in ENGINES)
    middle, least = (statistics.median(other) / statistics.median(own), min(other) / min(own))
    return (f"clinfer {statistics.median(own):8.3f} ms (least {min(own):8.3f})  "
            f"OpenVINO {statistics.median(other):8.3f} ({min(other):8.3f})  "
            f"ratio {middle:5.2f}, of the least {least:5.2f}  error {error:.1e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cells", nargs="*", default=list(GATES))
    parser.add_argument("--hidden", type=int, nargs="+", default=[64, 256, 512])
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--bidirectional", action="store_true")
    parser.add_argument("--device", default="CPU.0")
    parser.add_argument("--threads", type=int, default=usable_cpus())
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for cell in options.cells:
            for hidden in options.hidden:
                path = Path(folder) / f"{cell}{hidden}.xml"
                ov.save_model(build(cell, hidden, options.batch, options.steps, options.bidirectional), path,
                              compress_to_fp16=False)
                line = measure(path, (options.batch, options.steps, hidden), options.device, options.threads,
                               options.rounds)
                print(f"{cell:4} {hidden:4}  {line}", flush=True)


if __name__ == "__main__":
    main()
