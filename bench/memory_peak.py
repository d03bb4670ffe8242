"""Peak memory of activations beside its lower bound: the largest sum of tensors that are alive together.

Nothing is executed: each shape is planned. The peak is the memory pool of a network that never saw another shape, its
own outputs included; inputs and constants are left out of both, scratch buffers are in both.
`python -m bench.memory_peak [MODEL...] [--device CPU.0]`
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from bench.models import MODELS, Inputs
from clinfer.base.shape import StaticShape
from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.frontend.transformations import prepare
from clinfer.kernels.contract import Problem
from clinfer.network.compile import compile_topology
from clinfer.network.memory.memory_planner import MemoryPlanner
from clinfer.network.plans.node_planner import NodePlanner
from clinfer.program.program import Program
from clinfer.runtime.device import find_device
from clinfer.runtime.engine import Engine


@dataclass(frozen=True)
class Peak:
    """Bytes for one shape: of the pool, and of what is alive together at most."""

    peak: int
    bound: int

    @property
    def ratio(self) -> float:
        """How much more is held than the bound."""
        return self.peak / max(self.bound, 1)


def _no_large_kernels(index: int, problem: Problem) -> NoReturn:
    raise ValueError(f"{problem.primitive.where} has a tensor of more than 2^31 - 1 elements")


class Planned:
    """Plans whole inferences of a program of one segment and adds up their memory."""

    def __init__(self, program: Program) -> None:
        if len(program.segments) != 1:
            raise ValueError(f"the model has {len(program.segments)} segments; data decides about its memory")
        self._program = program
        self._stream = program.engine.create_stream()
        self._nodes = NodePlanner(program, OpenVinoShapeInference(), defaultdict(int), _no_large_kernels)

    def peak(self, inputs: Inputs) -> Peak:
        """The memory for these inputs, in the order of the model's."""
        program, capabilities = self._program, self._program.engine.capabilities
        tensors, scratch = self._sizes(inputs)
        alive = [0] * (len(program.nodes) + 1)
        lives = self._lives()
        slots = {program.tensors[tensor].slot: nbytes for tensor, nbytes in tensors.items()}
        for tensor, nbytes in tensors.items():
            for step in range(lives[tensor][0], lives[tensor][1] + 1):
                alive[step] += nbytes
        for (index, number), nbytes in scratch.items():
            slots[program.nodes[index].scratch_slots[number]] = nbytes
            alive[index] += nbytes
        unit = capabilities.buffer_alignment
        memory_planner = MemoryPlanner(program.dependencies, program.first_scratch, capabilities.max_alloc_size,
                            capabilities.overlapping_parts)
        rounded = {slot: -(-max(nbytes, 1) // unit) * unit for slot, nbytes in slots.items()}
        found = memory_planner.plan_memory(rounded, [], {}, may_add=True)
        assert found is not None
        return Peak(found.nbytes, max(alive))

    def _lives(self) -> dict[int, tuple[int, int]]:
        """By root, the steps from the first to the last that touch it."""
        lives: dict[int, tuple[int, int]] = {}
        for step, node in enumerate(self._program.nodes):
            for tensor in (*node.inputs, *node.outputs):
                root = self._program.tensors[tensor].root
                lives[root] = (lives.get(root, (step, step))[0], step)
        for info in self._program.outputs.values():
            root = self._program.tensors[info.tensor].root
            lives[root] = (lives.get(root, (0, 0))[0], len(self._program.nodes))
        return lives

    def _sizes(self, inputs: Inputs) -> tuple[Mapping[int, int], Mapping[tuple[int, int], int]]:
        """Bytes by root tensor, of slots and outputs, and by (node, scratch buffer)."""
        program = self._program
        shapes: dict[int, StaticShape] = {}
        values: dict[int, np.ndarray] = {}
        for tensor, array in zip(program.input_tensors.values(), inputs, strict=True):
            shapes[tensor], values[tensor] = array.shape, array
        values |= {tensor: data.on_host(self._stream) for tensor, data in program.constants.items()
                   if any(tensor in (node.inputs[i] for i in node.read_on_host) for node in program.nodes)}
        tensors: dict[int, int] = defaultdict(int)
        scratch: dict[tuple[int, int], int] = {}
        for index in program.segments[0].nodes:
            node = program.nodes[index]
            known = tuple(shapes[t] if t in shapes else program.tensors[t].layout.static_shape for t in node.inputs)
            plan = self._nodes.plan(index, known, {i: values[node.inputs[i]] for i in node.read_on_host})
            shapes.update(zip(node.outputs, plan.shapes, strict=True))
            values.update(zip(node.outputs, plan.values, strict=False))
            scratch.update({(index, n): nbytes for n, nbytes in enumerate(plan.scratch_bytes)})
            for tensor, nbytes in zip(node.outputs, plan.nbytes, strict=True):
                root = program.tensors[tensor].root
                if program.tensors[root].storage in ("slot", "output"):
                    tensors[root] = max(tensors[root], nbytes)
        return tensors, scratch


def planned(name: str, device: str) -> Planned:
    """A model of `bench.models`, compiled for a device."""
    topology = to_topology(prepare(MODELS[name].build())).topology
    return Planned(compile_topology(Engine(find_device(device)), topology, OpenVinoShapeInference()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--device", default="AUTO")
    options = parser.parse_args()
    random = np.random.default_rng(0)
    for name in options.models:
        model = planned(name, options.device)
        for shape in MODELS[name].shapes:
            found = model.peak(MODELS[name].inputs(shape, random))
            print(f"{name:16} {shape!s:20} peak {found.peak / 2**20:8.2f} MiB  bound {found.bound / 2**20:8.2f} MiB  "
                  f"ratio {found.ratio:5.3f}", flush=True)


if __name__ == "__main__":
    main()
