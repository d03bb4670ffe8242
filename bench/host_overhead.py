"""Host time of a replayed plan: microseconds per launch, with nothing but the plan's own work.

A chain of tiny element-wise primitives is executed many times without waiting; the time until `execute`
returns, over the number of launches, is the host's share. `python -m bench.host_overhead [--device CPU.0]`
"""
from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

import clinfer as ov
from clinfer.base.layout import Layout
from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.runtime.device import find_device
from clinfer.runtime.engine import Engine


def chain(length: int) -> ov.Model:
    """A model of that many softmaxes of 16 numbers, one behind the other."""
    x = node = ov.opset13.parameter([-1, 16], np.float32)
    for _ in range(length):
        node = ov.opset13.softmax(node, 1)
    return ov.Model([node], [x], "chain")


def measure(network: Network, rounds: int) -> float:
    """Median host microseconds per launch of an execution whose plan ran last."""
    launches = sum(bool(node.implementations) for node in network.program.nodes)
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        network.execute()
        times.append(time.perf_counter() - start)
        network.stream.finish()
    return statistics.median(times) / launches * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="AUTO")
    parser.add_argument("--launches", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    engine = Engine(find_device(options.device))
    program = compile_topology(engine, to_topology(chain(options.launches)).topology, OpenVinoShapeInference())
    network = Network(program, engine.create_stream(), OpenVinoShapeInference())
    name, declared = next(iter(program.inputs.items()))
    memory = engine.allocate_memory(Layout.planar((1, 16), declared.element_type), zero=True)
    network.set_input(name, memory, (1, 16))
    print(f"{engine.device}: {measure(network, options.rounds):.2f} us of host time per launch")


if __name__ == "__main__":
    main()
