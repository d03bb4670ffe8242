"""Constant weights of nodes in other formats than the program's own, for implementations that come later."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial

from clinfer.base.layout import Layout
from clinfer.base.tracing import log
from clinfer.kernels.contract import Problem
from clinfer.kernels.cost import show_time
from clinfer.kernels.implementation import Implementation
from clinfer.program.program import Program
from clinfer.program.weights_cache import Outcome
from clinfer.runtime.memory import Memory

_WAYS: dict[Outcome, str] = {"original": "as they are", "reinterpreted": "as they are, seen otherwise",
                             "reordered": "reordered", "hit": "as they were reordered before"}


class NodeWeights:
    """The weights of a program's nodes."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def repack(self, index: int) -> Callable[[Layout], Implementation | None] | None:
        """Gives what brings a node's weights into another layout (None: the bytes are the same); None where it has no
        constant weights."""
        tensor = self._tensor(index)
        if tensor < 0:
            return None
        return partial(self._program.weights.reorder, self._program.tensors[tensor].layout)

    def memories(self, index: int, implementation: Implementation, problem: Problem) -> dict[int, Memory] | None:
        """By input, the weights that an implementation wants in a format of its own; None: there is no room. What it
        takes for a problem, beside the present one, is told with CLINFER_DEBUG=3."""
        tensor, position = self._tensor(index), implementation.problem.primitive.weights_input
        if tensor < 0 or position is None:
            return {}
        found = self._program.weights.get(tensor, self._program.constant_memory[tensor],
                                          self._program.tensors[tensor].layout,
                                          implementation.problem.inputs[position])
        if found is None:
            return None
        node = self._program.nodes[index]
        log(3, f"{node.primitive.where}: {implementation.name} has its weights {_WAYS[found.outcome]}; it takes "
               f"{_time(implementation, problem)}, {node.implementations[0].name} "
               f"{_time(node.implementations[0], problem)}")
        return {} if found.outcome == "original" else {position: found.memory}

    def _tensor(self, index: int) -> int:
        """The tensor that holds a node's constant weights; -1: it has none."""
        node = self._program.nodes[index]
        position = node.primitive.weights_input
        tensor = -1 if position is None else node.inputs[position]
        return tensor if tensor in self._program.constant_memory else -1


def _time(implementation: Implementation, problem: Problem) -> str:
    return show_time(implementation.candidate.cost(implementation.candidate.in_own_formats(problem)))
