"""What each optional pass is worth: `python -m bench.passes [models] [--device CPU.0] [--precision f16]`

Launches, seconds to build the program (kernels from the cache) and medians of interleaved executions, transfers not
included, with all passes and without each; a ratio above 1 is what leaving the pass out costs.
"""
from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

from bench.models import MODELS, Inputs
from clinfer.base.layout import Layout
from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.frontend.transformations import prepare
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.program.options import BuildOptions
from clinfer.program.passes import OPTIONAL
from clinfer.runtime.device import find_device
from clinfer.runtime.engine import Engine
from clinfer.topology import Topology

PASSES = tuple(run.__name__ for run in OPTIONAL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["bert_base", "minilm", "vit_b16", "whisper_encoder", "llama"])
    parser.add_argument("--device", default="AUTO")
    parser.add_argument("--precision", default="f32", choices=("f32", "f16"))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--passes", nargs="*", default=list(PASSES), choices=PASSES)
    options = parser.parse_args()
    engine = Engine(find_device(options.device))
    for name in options.models:
        topology = to_topology(prepare(MODELS[name].build(), options.precision)).topology
        variants = {"all passes": frozenset[str](), **{f"without {x}": frozenset({x}) for x in options.passes},
                    "without these": frozenset(options.passes)}
        networks = {label: _network(engine, topology, skipped) for label, skipped in variants.items()}
        built = {label: _build_seconds(engine, topology, skipped) for label, skipped in variants.items()}
        for shape in MODELS[name].shapes:
            times = _medians(networks, MODELS[name].inputs(shape, np.random.default_rng(0)), options.rounds)
            for label, network in networks.items():
                print(f"{name:16} {'x'.join(map(str, shape)):14} {label:30} {_launches(network):4} launches   "
                      f"built in {built[label]:5.2f} s   {times[label] * 1e3:8.2f} ms   "
                      f"{times[label] / times['all passes']:.3f}", flush=True)


def _network(engine: Engine, topology: Topology, skipped: frozenset[str]) -> Network:
    inference = OpenVinoShapeInference()
    program = compile_topology(engine, topology, inference, BuildOptions(skipped_passes=skipped))
    return Network(program, engine.create_stream(), inference)


def _build_seconds(engine: Engine, topology: Topology, skipped: frozenset[str]) -> float:
    start = time.perf_counter()
    _network(engine, topology, skipped)
    return time.perf_counter() - start


def _launches(network: Network) -> int:
    return sum(len(node.implementations[0].stages) for node in network.program.nodes if node.kind == "kernel")


def _medians(networks: dict[str, Network], inputs: Inputs, rounds: int) -> dict[str, float]:
    """Seconds of an execution of each network; they take turns."""
    times: dict[str, list[float]] = {label: [] for label in networks}
    for network in networks.values():
        _give(network, inputs)
        network.execute()
        network.stream.finish()
    for _ in range(rounds):
        for label, network in networks.items():
            start = time.perf_counter()
            network.execute()
            network.stream.finish()
            times[label].append(time.perf_counter() - start)
    return {label: statistics.median(measured) for label, measured in times.items()}


def _give(network: Network, inputs: Inputs) -> None:
    for (name, declared), array in zip(network.program.inputs.items(), inputs, strict=True):
        layout = Layout.planar(array.shape, declared.element_type)
        memory = network.program.engine.allocate_memory(layout)
        network.stream.write(memory, layout.pack(array), blocking=True)
        network.set_input(name, memory, array.shape, array)


if __name__ == "__main__":
    main()
