"""Kernels that index with 64 bits, for nodes of open sizes: built at the first shape with a tensor that needs them."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from clinfer.base.errors import ClinferError
from clinfer.base.layout import LARGEST_INDEX
from clinfer.base.tracing import log
from clinfer.kernels.contract import Candidate, Problem
from clinfer.kernels.implementation import Implementation, generate
from clinfer.kernels.jitter import StageCode
from clinfer.kernels.refused_kernels import KernelBuildError
from clinfer.kernels.specialisation import TuningTask, ranked
from clinfer.network.bindings import Bindings
from clinfer.network.memory.node_weights import NodeWeights
from clinfer.ops import kernels_of
from clinfer.program.program import Program


class LargeKernels:
    """Those of one network. They work on tensors in the formats that the program has for them."""

    def __init__(self, program: Program, bindings: Bindings) -> None:
        self._program = program
        self._bindings = bindings
        self._weights = NodeWeights(program)
        self._made: dict[tuple[int, Candidate], Implementation] = {}

    def find(self, index: int, problem: Problem) -> tuple[Implementation, tuple[int, ...]]:
        """What computes a node's large problem, and the numbers of its kernels. Errors: ClinferError where none of the
        operation's kernels does, and for a tensor that the device cannot allocate."""
        for layout in problem.all_inputs + problem.outputs:
            self._program.engine.ledger.check_alone(layout.byte_size, f"tensor {layout}")
        for implementation in self._able(index, problem):
            memories = self._weights.memories(index, implementation, problem)
            if memories is not None:
                return implementation, self._bindings.specialised(index, implementation, memories)
        largest = max(problem.all_inputs + problem.outputs, key=lambda layout: layout.physical_count)
        raise ClinferError("a tensor is too large to be indexed with 32 bits", values={
            "tensor": largest, "elements": largest.physical_count, "limit": LARGEST_INDEX,
            "kernels": ", ".join(each.name for each in kernels_of(problem.primitive).candidates(problem))},
            hint="split the tensor along its batch")

    def _able(self, index: int, problem: Problem) -> Iterator[Implementation]:
        """Implementations that compute the problem, built and ready, fastest first."""
        node = self._program.nodes[index]
        present = node.implementations[0]
        built_for = replace(present.problem, is_large=True)
        task = TuningTask(replace(present, problem=built_for), problem, kernels_of(node.primitive),
                          self._program.kernels, len(node.scratch_slots), self._weights.repack(index))
        for candidate in ranked(task):
            made = self._made.get((index, candidate))
            if made is None:
                made = generate(candidate, candidate.in_own_formats(built_for))
                log(1, f"{node.primitive.where}: {made.name} is built once more, to index with 64 bits")
                try:
                    self._program.kernels.prepare(self._codes(index, made))
                except KernelBuildError as error:
                    log(1, f"{node.primitive.where}: {error}")
                    continue
                self._made[index, candidate] = made
            yield made

    def _codes(self, index: int, made: Implementation) -> Iterator[StageCode]:
        """The kernels of an implementation, with those that bring weights into its format."""
        yield from (stage.code for stage in made.stages)
        position, repack = made.problem.primitive.weights_input, self._weights.repack(index)
        if position is not None and repack is not None:
            reorder = repack(made.problem.inputs[position])
            if reorder is not None:
                yield from (stage.code for stage in reorder.stages)
