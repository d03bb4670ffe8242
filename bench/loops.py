"""Loops with bodies of a few operations beside OpenVINO's CPU plugin at f32, each engine in a process of its own.

They are measured as `bench.recurrent` does. Ratios above 1 mean that clinfer is faster.
`python -m bench.loops [cell scan pair until] [--hidden 64] [--steps 100]`
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import openvino as ov
from openvino import opset13 as ops

from bench.recurrent import measure
from bench.worker import usable_cpus


def drawn(hidden: int, *shape: int) -> ov.Node:
    """Weights as frameworks draw them."""
    return ops.constant(np.random.default_rng(0).uniform(-(hidden**-0.5), hidden**-0.5, shape).astype(np.float32))


def zeros(*shape: int) -> ov.Node:
    """A state to begin with."""
    return ops.constant(np.zeros(shape, np.float32))


def cell(x: ov.Node, hidden: int, steps: int) -> list[ov.Output]:
    """TensorIterator: an LSTM whose cell is written out, over the first axis but one."""
    part, state, memory = (ops.parameter(shape, np.float32) for shape in ([1, 1, hidden], [1, hidden], [1, hidden]))
    both = ops.concat([ops.squeeze(part, np.array([1])), state], 1)
    gates = ops.add(ops.matmul(both, drawn(hidden, 2 * hidden, 4 * hidden), False, False), drawn(hidden, 4 * hidden))
    take, forget, new, give = ops.split(gates, 1, 4).outputs()
    kept = ops.add(ops.multiply(ops.sigmoid(forget), memory), ops.multiply(ops.sigmoid(take), ops.tanh(new)))
    told = ops.multiply(ops.sigmoid(give), ops.tanh(kept))
    row = ops.unsqueeze(told, np.array([1]))
    iterator = ops.tensor_iterator()
    iterator.set_function(ov.Model([told, kept, row], [part, state, memory]))
    iterator.set_sliced_input(part, x.output(0), 0, 1, 1, -1, 1)
    iterator.set_merged_input(state, zeros(1, hidden).output(0), told.output(0))
    iterator.set_merged_input(memory, zeros(1, hidden).output(0), kept.output(0))
    return [iterator.get_concatenated_slices(row.output(0), 0, 1, 1, -1, 1)]


def scan(x: ov.Node, hidden: int, steps: int) -> list[ov.Output]:
    """Loop: a recurrence of one product, over a known number of runs whose number chooses the row."""
    trips = ops.squeeze(ops.gather(ops.shape_of(x), np.array([1]), np.array(0)), np.array([0]))
    loop = ops.loop(trips, ops.constant(np.array([True])))
    counter, state = ops.parameter([], np.int64), ops.parameter([1, hidden], np.float32)
    rows = ops.parameter([1, -1, hidden], np.float32)
    row = ops.gather(rows, counter, np.array(1))
    told = ops.tanh(ops.add(ops.matmul(state, drawn(hidden, hidden, hidden), False, False), row))
    out = ops.unsqueeze(told, np.array([1]))
    loop.set_function(ov.Model([ops.constant(np.array([True])), told, out], [counter, state, rows]))
    loop.set_special_body_ports([0, 0])
    loop.set_merged_input(state, zeros(1, hidden).output(0), told.output(0))
    loop.set_invariant_input(rows, x.output(0))
    return [loop.get_iter_value(told.output(0), -1), loop.get_concatenated_slices(out.output(0), 0, 1, 1, -1, 1)]


def pair(x: ov.Node, hidden: int, steps: int) -> list[ov.Output]:
    """TensorIterator: two states that three element-wise operations change."""
    part, one, other = (ops.parameter([1, 1, hidden], np.float32) for _ in range(3))
    near, far = ops.add(ops.multiply(one, np.float32(0.9)), part), ops.maximum(other, part)
    iterator = ops.tensor_iterator()
    iterator.set_function(ov.Model([near, far], [part, one, other]))
    iterator.set_sliced_input(part, x.output(0), 0, 1, 1, -1, 1)
    iterator.set_merged_input(one, zeros(1, 1, hidden).output(0), near.output(0))
    iterator.set_merged_input(other, zeros(1, 1, hidden).output(0), far.output(0))
    return [iterator.get_iter_value(far.output(0), -1),
            iterator.get_concatenated_slices(near.output(0), 0, 1, 1, -1, 1)]


def until(x: ov.Node, hidden: int, steps: int) -> list[ov.Output]:
    """Loop: adds the first row until its greatest sum is large enough, which only the data tell."""
    loop = ops.loop(ops.constant(np.array(-1, np.int64)), ops.constant(np.array([True])))
    state, row = (ops.parameter([1, hidden], np.float32) for _ in range(2))
    more = ops.add(state, ops.abs(row))
    peak = ops.reduce_max(more, np.array([0, 1]), False)
    goes_on = ops.less(peak, ops.constant(np.float32(steps - 0.5)))
    loop.set_function(ov.Model([goes_on, more], [state, row]))
    loop.set_special_body_ports([-1, 0])
    first = ops.gather(x, np.array(0), np.array(1))
    greatest = ops.reduce_max(ops.abs(first), np.array([1]), True)
    loop.set_merged_input(state, zeros(1, hidden).output(0), more.output(0))
    loop.set_invariant_input(row, ops.divide(first, greatest).output(0))
    return [loop.get_iter_value(more.output(0), -1)]


MODELS: dict[str, Callable[[ov.Node, int, int], list[ov.Output]]] = {
    "cell": cell, "scan": scan, "pair": pair, "until": until}


def build(name: str, hidden: int, steps: int) -> ov.Model:
    """A model that reads [1, steps, hidden]."""
    x = ops.parameter([1, steps, hidden], np.float32)
    return ov.Model(MODELS[name](x, hidden, steps), [x], name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--device", default="CPU.0")
    parser.add_argument("--threads", type=int, default=usable_cpus())
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models:
            path = Path(folder) / f"{name}.xml"
            ov.save_model(build(name, options.hidden, options.steps), path, compress_to_fp16=False)
            line = measure(path, (1, options.steps, options.hidden), options.device, options.threads, options.rounds)
            print(f"{name:6} {line}", flush=True)


if __name__ == "__main__":
    main()
