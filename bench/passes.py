"""What each pass of the graph optimiser is worth: launches, bytes moved and time with it and without it.

For each model and each pass that can be left out, and for all of them together, two programs take turns inference by
inference in one process. Bytes: what the launched primitives read and write, each tensor once per primitive. Times
are the least of all rounds, without transfers. Ratios are without over with: above 1 the pass gains. Compile
times mean something once all kernels are in the cache, in a second run.
Usage: python -m bench.passes [resnet50 minilm] [--passes fuse_eltwise] [--device CPU] [--precision f32]
"""
from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

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
from clinfer.program.program import Program
from clinfer.runtime.device import find_device
from clinfer.runtime.engine import Engine
from clinfer.topology import Topology

PASSES = tuple(run.__name__ for run in OPTIONAL)


@dataclass(frozen=True)
class Cost:
    """Of one program: kernels launched, megabytes moved, milliseconds of an inference, seconds of compilation."""

    launches: int
    megabytes: float
    milliseconds: float
    compile_s: float


class Subject:
    """A program with its inputs in place."""

    def __init__(self, engine: Engine, topology: Topology, skipped: Sequence[str], inputs: Inputs) -> None:
        options = BuildOptions(skipped_passes=frozenset(skipped))
        start = time.perf_counter()
        self.program = compile_topology(engine, topology, OpenVinoShapeInference(), options)
        self.compile_s = time.perf_counter() - start
        self._network = Network(self.program, engine.create_stream(), OpenVinoShapeInference())
        _give(self._network, inputs)
        self._network.execute()
        self._network.stream.finish()
        self.launches = sum(node.launches for node in self._network.page.tell().nodes)
        self.megabytes = _bytes_moved(engine, self.program, inputs) / 1e6
        self.times: list[float] = []

    def run(self) -> None:
        """One inference, whose time is noted."""
        start = time.perf_counter()
        self._network.execute()
        self._network.stream.finish()
        self.times.append(time.perf_counter() - start)

    @property
    def cost(self) -> Cost:
        return Cost(self.launches, self.megabytes, min(self.times) * 1e3, self.compile_s)


def _give(network: Network, inputs: Inputs) -> None:
    for (name, declared), array in zip(network.program.inputs.items(), inputs, strict=True):
        layout = Layout.planar(array.shape, declared.element_type)
        memory = network.program.engine.allocate_memory(layout)
        network.stream.write(memory, layout.pack(array), blocking=True)
        network.set_input(name, memory, array.shape, array)


def _bytes_moved(engine: Engine, program: Program, inputs: Inputs) -> int:
    """The bytes of what each launched primitive reads and writes."""
    network = Network(program, engine.create_stream(profiling=True), OpenVinoShapeInference(), profiling=True)
    _give(network, inputs)
    network.start_profile()
    network.execute()
    network.stream.finish()
    shapes = {tensor: declared.layout.shape for tensor, declared in enumerate(program.tensors)
              if declared.layout.is_static}
    shapes |= {program.input_tensors[name]: array.shape for name, array in zip(program.inputs, inputs, strict=True)}
    rows = {row.name: row for row in network.profile()}
    total = 0
    for node in program.nodes:
        row = rows.get(node.primitive.id)
        if row is None or not row.shapes:
            continue
        shapes |= dict(zip(node.outputs, row.shapes, strict=True))
        if node.kind == "kernel" and row.status == "executed":
            read = {t for i, t in enumerate(node.inputs) if i not in node.primitive.value_inputs}
            total += sum(program.tensors[t].layout.with_shape(shapes[t]).byte_size for t in (*read, *node.outputs))
    return total


def compare(with_it: Subject, without: Subject, rounds: int) -> tuple[Cost, Cost]:
    """The costs of both programs, taking turns."""
    for subject in (with_it, without):
        subject.run()
        subject.times.clear()
    for _ in range(rounds):
        with_it.run()
        without.run()
    return with_it.cost, without.cost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(MODELS), help="default: all")
    parser.add_argument("--passes", nargs="*", default=["all", *PASSES], help="those to leave out one by one, or all")
    parser.add_argument("--device", default="CPU")
    parser.add_argument("--precision", default="f32", choices=("f32", "f16"))
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    engine = Engine(find_device(options.device))
    print(engine.device)
    print("| model | without | launches | MB moved | ms | time | compile time |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    gains: dict[str, list[Cost]] = {}
    for name in options.models:
        model = MODELS[name]
        topology = to_topology(prepare(model.build(), options.precision)).topology
        inputs = model.inputs(model.shapes[0], np.random.default_rng(0))
        base = Subject(engine, topology, (), inputs)
        for passed in options.passes:
            other = Subject(engine, topology, PASSES if passed == "all" else (passed,), inputs)
            have, lack = compare(base, other, options.rounds)
            ratio = Cost(lack.launches, 0, lack.milliseconds / have.milliseconds, lack.compile_s / have.compile_s)
            gains.setdefault(passed, []).append(ratio)
            print(f"| {name} | {passed} | {have.launches} / {lack.launches} | {have.megabytes:.1f} / "
                  f"{lack.megabytes:.1f} | {have.milliseconds:.2f} / {lack.milliseconds:.2f} | "
                  f"{ratio.milliseconds:.2f} | {ratio.compile_s:.2f} |", flush=True)
    for passed, ratios in gains.items():
        means = [statistics.geometric_mean(r.milliseconds for r in ratios),
                 statistics.geometric_mean(r.compile_s for r in ratios)]
        print(f"{passed}: time x{means[0]:.3f}, compile time x{means[1]:.3f} (geometric means)")


if __name__ == "__main__":
    main()
